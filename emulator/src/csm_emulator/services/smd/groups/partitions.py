"""Partitions: of which a component is in one at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.go_json.types import STRING, STRINGS, struct
from csm_emulator.dialects.hms.names import hms_type, normal
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

BASE = "/hsm/v2/partitions"
PARTITION = struct("sm.Partition", {"name": STRING, "description": STRING, "tags": STRINGS, "members": members.MEMBERS})
PATCH = struct("sm.PartitionPatch", members.PATCHED)
_BAD_NAME = "Invalid partition name."


def routes(hsm: Hsm) -> Sequence[Route]:
    one = f"{BASE}/{{partition_name}}"
    found = (
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
    return [route.through(answering) for route in found]


def _partitions(hsm: Hsm) -> Collection:
    same = "partition that has the same name."
    return Collection(hsm, hsm.partitions, "partition", same, "member in another partition.", partial(_taken, hsm))


def _name(call: Call) -> str:
    name = call.args["partition_name"].lower()
    if not is_field(name):
        raise Answered(400, _BAD_NAME)
    return name


def _on_wire(partition: Json) -> Json:
    return {name: value for name, value in partition.items() if value}


def _get_all(hsm: Hsm, call: Call) -> Reply:
    if unreadable(call):
        return problem(500, "failed to decode query parameters.")
    tags, wanted = lowered(forms.values(call, "tag")), lowered(forms.values(call, "partition"))
    if not all(map(is_field, tags)):
        return problem(400, "Invalid tag.")
    if not all(map(is_field, wanted)):
        return problem(400, _BAD_NAME)
    found = [partition for name, partition in hsm.partitions.items() if not wanted or name in wanted]
    return answer([_on_wire(partition) for partition in found if members.tagged(partition, tags)])


def _get_names(hsm: Hsm, _: Call) -> Reply:
    return answer(list(hsm.partitions))


def _get_one(hsm: Hsm, part: Callable[[Json], Json], call: Call) -> Reply:
    name = _name(call)
    if missing := _partitions(hsm).missing(name):
        return missing
    return answer(part(_on_wire(hsm.partitions[name])))


def _post(hsm: Hsm, call: Call) -> Reply:
    try:
        partition = _checked(decode(call.body, PARTITION))
    except Refusal as error:
        return problem(400, f"couldn't validate partition: {error}")
    try:
        fits((partition["name"], 255), (partition["description"], 255), *((tag, 255) for tag in partition["tags"]))
    except DatabaseError as error:
        return not_stored(error)
    return _partitions(hsm).insert(partition["name"], partition)


def _checked(given: Json) -> Json:
    partition = {
        "name": given["name"].lower(),
        "description": given["description"],
        "tags": lowered(given["tags"]),
        "members": {"ids": [normal(text) for text in given["members"]["ids"] or ()]},
    }
    if hms_type(partition["name"]) != "Partition":
        raise Refusal("Bad partition name. Must be p# or p#.#")
    members.check_fields(partition["tags"])
    members.check_members(partition["members"]["ids"])
    return partition


def _taken(hsm: Hsm, partition: Json) -> frozenset[str]:
    """Members of the other partitions."""
    others = (other for name, other in hsm.partitions.items() if name != partition["name"])
    return frozenset(xname for other in others for xname in other["members"]["ids"])


def _delete(hsm: Hsm, call: Call) -> Reply:
    return _partitions(hsm).delete(_name(call))


def _patch(hsm: Hsm, call: Call) -> Reply:
    name = _name(call)
    given = decode(call.body, PATCH)
    return members.patch_reply(hsm.partitions, name, given, members.empty_patch(given), "no such partition.")


def _post_member(hsm: Hsm, call: Call) -> Reply:
    return _partitions(hsm).add_member(_name(call), call)


def _delete_member(hsm: Hsm, call: Call) -> Reply:
    return _partitions(hsm).drop_member(_name(call), call)
