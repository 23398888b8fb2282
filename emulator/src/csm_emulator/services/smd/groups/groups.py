"""Groups: collections of components; a component is in at most one of the groups that share an exclusiveGroup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.go_json.types import STRING, STRINGS, struct
from csm_emulator.dialects.hms.names import normal
from csm_emulator.records import Json
from csm_emulator.services.smd import query_parameters
from csm_emulator.services.smd.components.lists import query_is_undecodable
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, RequestRejected, check_widths, with_error_replies
from csm_emulator.services.smd.groups import members
from csm_emulator.services.smd.groups.collection import MemberCollection, store_error
from csm_emulator.services.smd.groups.members import is_field, lowered
from csm_emulator.services.smd.responses import json_reply, problem
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

BASE = "/hsm/v2/groups"
GROUP = struct(
    "sm.Group",
    {
        "label": STRING,
        "description": STRING,
        "exclusiveGroup": STRING,
        "tags": STRINGS,
        "members": members.MEMBERS,
    },
)
PATCH = struct("sm.GroupPatch", members.PATCH_FIELDS)
_BAD_LABEL, _BAD_PARTITION, _BAD_TAG = "Invalid group label.", "Invalid partition name.", "Invalid tag."


def routes(hsm: Hsm) -> Sequence[Route]:
    group_routes = (
        Route("GET", BASE, partial(_get_all, hsm)),
        Route("POST", BASE, partial(_post, hsm)),
        Route("GET", f"{BASE}/labels", partial(_get_labels, hsm)),
        Route("GET", f"{BASE}/{{group_label}}", partial(_get_one, hsm, lambda group: group)),
        Route("DELETE", f"{BASE}/{{group_label}}", partial(_delete, hsm)),
        Route("PATCH", f"{BASE}/{{group_label}}", partial(_patch, hsm)),
        Route("GET", f"{BASE}/{{group_label}}/members", partial(_get_one, hsm, lambda group: group["members"])),
        Route("POST", f"{BASE}/{{group_label}}/members", partial(_post_member, hsm)),
        Route("DELETE", f"{BASE}/{{group_label}}/members/{{xname_id}}", partial(_delete_member, hsm)),
    )
    return [route.through(with_error_replies) for route in group_routes]


def _groups(hsm: Hsm) -> MemberCollection:
    same = "group that has the same label or duplicate ids found in request."
    return MemberCollection(
        hsm, hsm.groups, "group", same, "member in another exclusive group.", partial(_conflicting_members, hsm)
    )


def _label(call: Call) -> str:
    label = call.args["group_label"].lower()
    if not is_field(label):
        raise RequestRejected(400, _BAD_LABEL)
    return label


def _on_wire(group: Json) -> Json:
    """The group without its empty fields, except the description."""
    return {name: value for name, value in group.items() if value or name == "description"}


def _partition(call: Call) -> str:
    text = (query_parameters.values(call, "partition") or [""])[0]
    if text == members.NO_PARTITION or not query_parameters.values(call, "partition"):
        return text
    if not is_field(text.lower()):
        raise RequestRejected(400, _BAD_PARTITION)
    return text.lower()


def _fields(call: Call, name: str, error: str) -> list[str]:
    texts = lowered(query_parameters.values(call, name))
    if not all(map(is_field, texts)):
        raise RequestRejected(400, error)
    return texts


def _get_all(hsm: Hsm, call: Call) -> Reply:
    if query_is_undecodable(call):
        return problem(500, "failed to decode query parameters.")
    partition = _partition(call)
    tags = _fields(call, "tag", _BAD_TAG)
    labels = _fields(call, "group", _BAD_LABEL)
    groups = [group for label, group in hsm.groups.items() if not labels or label in labels]
    groups_within = [_within(hsm, group, partition) for group in groups]
    return json_reply([_on_wire(group) for group in groups_within if members.has_any_tag(group, tags)])


def _within(hsm: Hsm, group: Json, partition: str) -> Json:
    """The group with only those members that are in the partition."""
    if not partition:
        return group
    return {**group, "members": {"ids": _ids_within(hsm, group["members"]["ids"], partition)}}


def _ids_within(hsm: Hsm, ids: Sequence[str], partition: str) -> list[str]:
    if partition == members.NO_PARTITION:
        partitioned = {xname for record in hsm.partitions.values() for xname in record["members"]["ids"]}
        return [xname for xname in ids if xname not in partitioned]
    _check_partition(hsm, partition)
    inside = frozenset(hsm.partitions[partition]["members"]["ids"])
    return [xname for xname in ids if xname in inside]


def _check_partition(hsm: Hsm, partition: str) -> None:
    if partition not in ("", members.NO_PARTITION) and partition not in hsm.partitions:
        raise RequestRejected(400, "bad query param: no such partition")


def _get_labels(hsm: Hsm, _: Call) -> Reply:
    return json_reply(list(hsm.groups))


def _get_one(hsm: Hsm, part: Callable[[Json], Json], call: Call) -> Reply:
    label = _label(call)
    if query_is_undecodable(call):
        return problem(500, "failed to decode query parameters.")
    partition = _partition(call)
    _check_partition(hsm, partition)
    if missing := _groups(hsm).missing(label):
        return missing
    return json_reply(part(_on_wire(_within(hsm, hsm.groups[label], partition))))


def _post(hsm: Hsm, call: Call) -> Reply:
    try:
        group = _validated(decode(call.body, GROUP))
    except HmsError as error:
        return problem(400, f"couldn't validate group: {error}")
    try:
        _check_widths(group)
    except DatabaseError as error:
        return store_error(error)
    return _groups(hsm).insert(group["label"], group)


def _validated(posted: Json) -> Json:
    group = {
        "label": posted["label"].lower(),
        "description": posted["description"],
        "exclusiveGroup": posted["exclusiveGroup"].lower(),
        "tags": lowered(posted["tags"]),
        "members": {"ids": [normal(text) for text in posted["members"]["ids"] or ()]},
    }
    members.check_fields(
        [group["label"], *([group["exclusiveGroup"]] if group["exclusiveGroup"] else []), *group["tags"]]
    )
    members.check_members(group["members"]["ids"])
    return group


def _check_widths(group: Json) -> None:
    check_widths((group["label"], 255), (group["description"], 255), (group["exclusiveGroup"], 253))
    check_widths(*((tag, 255) for tag in group["tags"]))


def _conflicting_members(hsm: Hsm, group: Json) -> frozenset[str]:
    """The members of other groups with the same exclusiveGroup."""
    if not group["exclusiveGroup"]:
        return frozenset()
    return frozenset(
        xname
        for record in hsm.groups.values()
        if record["exclusiveGroup"] == group["exclusiveGroup"] and record["label"] != group["label"]
        for xname in record["members"]["ids"]
    )


def _delete(hsm: Hsm, call: Call) -> Reply:
    return _groups(hsm).delete(_label(call))


def _patch(hsm: Hsm, call: Call) -> Reply:
    label = call.args["group_label"].lower()
    patch = decode(call.body, PATCH)
    first_error = members.empty_patch_error(patch)
    if not is_field(label):
        label_error = problem(400, _BAD_LABEL)
        return Reply(400, first_error + label_error.body, label_error.media)
    return members.patch_reply(hsm.groups, label, patch, first_error, "no such group.")


def _post_member(hsm: Hsm, call: Call) -> Reply:
    return _groups(hsm).add_member(_label(call), call)


def _delete_member(hsm: Hsm, call: Call) -> Reply:
    return _groups(hsm).drop_member(_label(call), call)
