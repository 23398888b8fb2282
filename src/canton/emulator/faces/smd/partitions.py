"""Partitions: of which a component is in one at most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from canton.emulator.faces.smd import forms, members
from canton.emulator.faces.smd.hsm import Hsm
from canton.emulator.faces.smd.listing import unreadable
from canton.emulator.faces.smd.members import Conflict, is_field, lowered
from canton.emulator.faces.smd.problems import all_created, answer, message, problem
from canton.emulator.faces.smd.refusals import Answered, DatabaseError, Refusal, answering, fits
from canton.emulator.wire.call import Call, Json, Reply
from canton.emulator.wire.go_json import decode
from canton.emulator.wire.go_kinds import STRING, STRINGS, struct
from canton.emulator.wire.hms_names import hms_type, normal, verified
from canton.emulator.wire.routes import Route

BASE = "/hsm/v2/partitions"
PARTITION = struct("sm.Partition", {"name": STRING, "description": STRING, "tags": STRINGS, "members": members.MEMBERS})
PATCH = struct("sm.PartitionPatch", members.PATCHED)
_BAD_NAME = "Invalid partition name."
_CONFLICT = "operation would conflict with an existing "
_ELSEWHERE = "member in another partition."


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
    return [Route(route.method, route.path, answering(route.handler)) for route in found]


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
    if name not in hsm.partitions:
        return problem(404, f"No such partition: {name}")
    return answer(part(_on_wire(hsm.partitions[name])))


def _post(hsm: Hsm, call: Call) -> Reply:
    try:
        partition = _checked(decode(call.body, PARTITION))
    except Refusal as error:
        return problem(400, f"couldn't validate partition: {error}")
    try:
        _insert(hsm, partition)
    except Conflict as conflict:
        return problem(409, _CONFLICT + (str(conflict) or "partition that has the same name."))
    except (Refusal, DatabaseError) as error:
        return members.not_stored(error)
    return all_created(BASE, [f"{BASE}/{partition['name']}"])


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


def _insert(hsm: Hsm, partition: Json) -> None:
    fits((partition["name"], 255), (partition["description"], 255), *((tag, 255) for tag in partition["tags"]))
    if partition["name"] in hsm.partitions:
        raise Conflict("")
    members.check_new(hsm, partition["members"]["ids"], (), _taken(hsm, partition["name"]), _ELSEWHERE)
    hsm.partitions[partition["name"]] = partition


def _taken(hsm: Hsm, name: str) -> frozenset[str]:
    """Members of the other partitions."""
    others = (partition for other, partition in hsm.partitions.items() if other != name)
    return frozenset(xname for partition in others for xname in partition["members"]["ids"])


def _delete(hsm: Hsm, call: Call) -> Reply:
    name = _name(call)
    if name not in hsm.partitions:
        return problem(404, "no such partition.")
    del hsm.partitions[name]
    return message("deleted 1 entry")


def _patch(hsm: Hsm, call: Call) -> Reply:
    name = _name(call)
    given = decode(call.body, PATCH)
    return members.patch_reply(hsm.partitions, name, given, members.empty_patch(given), "no such partition.")


def _post_member(hsm: Hsm, call: Call) -> Reply:
    name = _name(call)
    xname = verified(decode(call.body, members.MEMBER)["id"])
    if not xname:
        return problem(400, "invalid xname ID")
    if name not in hsm.partitions:
        return problem(404, f"No such partition: {name}")
    try:
        members.check_new(hsm, [xname], hsm.partitions[name]["members"]["ids"], _taken(hsm, name), _ELSEWHERE)
    except Conflict as conflict:
        return problem(409, _CONFLICT + (str(conflict) or "member in the same partition."))
    except (Refusal, DatabaseError) as error:
        return members.not_stored(error)
    members.add(hsm.partitions, name, xname)
    return all_created(BASE, [f"{BASE}/{name}/members/{xname}"])


def _delete_member(hsm: Hsm, call: Call) -> Reply:
    name, xname = _name(call), verified(call.args["xname_id"])
    if not xname:
        return problem(400, "invalid xname ID")
    if name not in hsm.partitions:
        return problem(404, f"No such partition: {name}")
    if xname not in hsm.partitions[name]["members"]["ids"]:
        return problem(404, "partition has no such member.")
    members.drop(hsm.partitions, name, xname)
    return message("deleted 1 entry")
