"""Partitions: a component is in at most one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.go_json.types import STRING, STRINGS, struct
from csm_emulator.dialects.hms.names import hms_type, normal
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

BASE = "/hsm/v2/partitions"
PARTITION = struct("sm.Partition", {"name": STRING, "description": STRING, "tags": STRINGS, "members": members.MEMBERS})
PATCH = struct("sm.PartitionPatch", members.PATCH_FIELDS)
_BAD_NAME = "Invalid partition name."


def routes(hsm: Hsm) -> Sequence[Route]:
    one = f"{BASE}/{{partition_name}}"
    partition_routes = (
        Route("GET", BASE, partial(_get_all, hsm)),
        Route("POST", BASE, partial(_post, hsm)),
        Route("GET", f"{BASE}/names", partial(_get_names, hsm)),
        Route("GET", one, partial(_get_one, hsm, lambda partition: partition)),
        Route("DELETE", one, partial(_delete, hsm)),
        Route("PATCH", one, partial(_patch, hsm)),
        Route("GET", f"{one}/members", partial(_get_one, hsm, lambda partition: partition["members"])),
        Route("POST", f"{one}/members", partial(_post_member, hsm)),
        Route("DELETE", f"{one}/members/{{xname_id}}", partial(_delete_member, hsm)),
    )
    return [route.through(with_error_replies) for route in partition_routes]


def _partitions(hsm: Hsm) -> MemberCollection:
    same = "partition that has the same name."
    return MemberCollection(
        hsm, hsm.partitions, "partition", same, "member in another partition.", partial(_conflicting_members, hsm)
    )


def _name(call: Call) -> str:
    name = call.args["partition_name"].lower()
    if not is_field(name):
        raise RequestRejected(400, _BAD_NAME)
    return name


def _on_wire(partition: Json) -> Json:
    return {name: value for name, value in partition.items() if value}


def _get_all(hsm: Hsm, call: Call) -> Reply:
    if query_is_undecodable(call):
        return problem(500, "failed to decode query parameters.")
    tags, names = lowered(query_parameters.values(call, "tag")), lowered(query_parameters.values(call, "partition"))
    if not all(map(is_field, tags)):
        return problem(400, "Invalid tag.")
    if not all(map(is_field, names)):
        return problem(400, _BAD_NAME)
    partitions = [partition for name, partition in hsm.partitions.items() if not names or name in names]
    return json_reply([_on_wire(partition) for partition in partitions if members.has_any_tag(partition, tags)])


def _get_names(hsm: Hsm, _: Call) -> Reply:
    return json_reply(list(hsm.partitions))


def _get_one(hsm: Hsm, part: Callable[[Json], Json], call: Call) -> Reply:
    name = _name(call)
    if missing := _partitions(hsm).missing(name):
        return missing
    return json_reply(part(_on_wire(hsm.partitions[name])))


def _post(hsm: Hsm, call: Call) -> Reply:
    try:
        partition = _validated(decode(call.body, PARTITION))
    except HmsError as error:
        return problem(400, f"couldn't validate partition: {error}")
    try:
        check_widths(
            (partition["name"], 255), (partition["description"], 255), *((tag, 255) for tag in partition["tags"])
        )
    except DatabaseError as error:
        return store_error(error)
    return _partitions(hsm).insert(partition["name"], partition)


def _validated(posted: Json) -> Json:
    partition = {
        "name": posted["name"].lower(),
        "description": posted["description"],
        "tags": lowered(posted["tags"]),
        "members": {"ids": [normal(text) for text in posted["members"]["ids"] or ()]},
    }
    if hms_type(partition["name"]) != "Partition":
        raise HmsError("Bad partition name. Must be p# or p#.#")
    members.check_fields(partition["tags"])
    members.check_members(partition["members"]["ids"])
    return partition


def _conflicting_members(hsm: Hsm, partition: Json) -> frozenset[str]:
    """The members of the other partitions."""
    records = (record for name, record in hsm.partitions.items() if name != partition["name"])
    return frozenset(xname for record in records for xname in record["members"]["ids"])


def _delete(hsm: Hsm, call: Call) -> Reply:
    return _partitions(hsm).delete(_name(call))


def _patch(hsm: Hsm, call: Call) -> Reply:
    name = _name(call)
    patch = decode(call.body, PATCH)
    return members.patch_reply(hsm.partitions, name, patch, members.empty_patch_error(patch), "no such partition.")


def _post_member(hsm: Hsm, call: Call) -> Reply:
    return _partitions(hsm).add_member(_name(call), call)


def _delete_member(hsm: Hsm, call: Call) -> Reply:
    return _partitions(hsm).drop_member(_name(call), call)
