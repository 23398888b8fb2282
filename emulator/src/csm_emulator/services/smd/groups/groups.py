"""Groups: free collections of components; of those that share an exclusiveGroup, a component is in one at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.go_json.types import STRING, STRINGS, struct
from csm_emulator.dialects.hms.names import normal
from csm_emulator.records import Json
from csm_emulator.services.smd import query_parameters as forms
from csm_emulator.services.smd.components.lists import unreadable
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import Answered, DatabaseError, Refusal, answering, fits
from csm_emulator.services.smd.groups import members
from csm_emulator.services.smd.groups.collection import Collection, not_stored
from csm_emulator.services.smd.groups.members import is_field, lowered
from csm_emulator.services.smd.responses import answer, problem
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
PATCH = struct("sm.GroupPatch", members.PATCHED)
_BAD_LABEL, _BAD_PARTITION, _BAD_TAG = "Invalid group label.", "Invalid partition name.", "Invalid tag."


def routes(hsm: Hsm) -> Sequence[Route]:
    found = (
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
    return [route.through(answering) for route in found]


def _groups(hsm: Hsm) -> Collection:
    same = "group that has the same label or duplicate ids found in request."
    return Collection(hsm, hsm.groups, "group", same, "member in another exclusive group.", partial(_taken, hsm))


def _label(call: Call) -> str:
    label = call.args["group_label"].lower()
    if not is_field(label):
        raise Answered(400, _BAD_LABEL)
    return label


def _on_wire(group: Json) -> Json:
    """Without what is empty, but for the description."""
    return {name: value for name, value in group.items() if value or name == "description"}


def _partition(call: Call) -> str:
    given = (forms.values(call, "partition") or [""])[0]
    if given == members.NOBODY or not forms.values(call, "partition"):
        return given
    if not is_field(given.lower()):
        raise Answered(400, _BAD_PARTITION)
    return given.lower()


def _fields(call: Call, name: str, complaint: str) -> list[str]:
    given = lowered(forms.values(call, name))
    if not all(map(is_field, given)):
        raise Answered(400, complaint)
    return given


def _get_all(hsm: Hsm, call: Call) -> Reply:
    if unreadable(call):
        return problem(500, "failed to decode query parameters.")
    partition = _partition(call)
    tags = _fields(call, "tag", _BAD_TAG)
    labels = _fields(call, "group", _BAD_LABEL)
    wanted = [group for label, group in hsm.groups.items() if not labels or label in labels]
    found = [_within(hsm, group, partition) for group in wanted]
    return answer([_on_wire(group) for group in found if members.tagged(group, tags)])


def _within(hsm: Hsm, group: Json, partition: str) -> Json:
    """With those members only that are in the partition."""
    if not partition:
        return group
    return {**group, "members": {"ids": _ids_within(hsm, group["members"]["ids"], partition)}}


def _ids_within(hsm: Hsm, ids: Sequence[str], partition: str) -> list[str]:
    if partition == members.NOBODY:
        taken = {xname for record in hsm.partitions.values() for xname in record["members"]["ids"]}
        return [xname for xname in ids if xname not in taken]
    _check_partition(hsm, partition)
    inside = frozenset(hsm.partitions[partition]["members"]["ids"])
    return [xname for xname in ids if xname in inside]


def _check_partition(hsm: Hsm, partition: str) -> None:
    if partition not in ("", members.NOBODY) and partition not in hsm.partitions:
        raise Answered(400, "bad query param: no such partition")


def _get_labels(hsm: Hsm, _: Call) -> Reply:
    return answer(list(hsm.groups))


def _get_one(hsm: Hsm, part: Callable[[Json], Json], call: Call) -> Reply:
    label = _label(call)
    if unreadable(call):
        return problem(500, "failed to decode query parameters.")
    partition = _partition(call)
    _check_partition(hsm, partition)
    if missing := _groups(hsm).missing(label):
        return missing
    return answer(part(_on_wire(_within(hsm, hsm.groups[label], partition))))


def _post(hsm: Hsm, call: Call) -> Reply:
    try:
        group = _checked(decode(call.body, GROUP))
    except Refusal as error:
        return problem(400, f"couldn't validate group: {error}")
    try:
        _check_widths(group)
    except DatabaseError as error:
        return not_stored(error)
    return _groups(hsm).insert(group["label"], group)


def _checked(given: Json) -> Json:
    group = {
        "label": given["label"].lower(),
        "description": given["description"],
        "exclusiveGroup": given["exclusiveGroup"].lower(),
        "tags": lowered(given["tags"]),
        "members": {"ids": [normal(text) for text in given["members"]["ids"] or ()]},
    }
    members.check_fields(
        [group["label"], *([group["exclusiveGroup"]] if group["exclusiveGroup"] else []), *group["tags"]]
    )
    members.check_members(group["members"]["ids"])
    return group


def _check_widths(group: Json) -> None:
    fits((group["label"], 255), (group["description"], 255), (group["exclusiveGroup"], 253))
    fits(*((tag, 255) for tag in group["tags"]))


def _taken(hsm: Hsm, group: Json) -> frozenset[str]:
    """Members of the other groups that exclude this one."""
    if not group["exclusiveGroup"]:
        return frozenset()
    return frozenset(
        xname
        for other in hsm.groups.values()
        if other["exclusiveGroup"] == group["exclusiveGroup"] and other["label"] != group["label"]
        for xname in other["members"]["ids"]
    )


def _delete(hsm: Hsm, call: Call) -> Reply:
    return _groups(hsm).delete(_label(call))


def _patch(hsm: Hsm, call: Call) -> Reply:
    label = call.args["group_label"].lower()
    given = decode(call.body, PATCH)
    earlier = members.empty_patch(given)
    if not is_field(label):
        bad = problem(400, _BAD_LABEL)
        return Reply(400, earlier + bad.body, bad.media)
    return members.patch_reply(hsm.groups, label, given, earlier, "no such group.")


def _post_member(hsm: Hsm, call: Call) -> Reply:
    return _groups(hsm).add_member(_label(call), call)


def _delete_member(hsm: Hsm, call: Call) -> Reply:
    return _groups(hsm).drop_member(_label(call), call)
