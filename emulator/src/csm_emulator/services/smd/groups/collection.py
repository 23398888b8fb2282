"""The operations that groups and partitions share: insert, delete, add and remove members."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.hms.names import verified
from csm_emulator.records import Json, Record
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, HmsError, error_reply
from csm_emulator.services.smd.groups.members import MEMBER, DuplicateMember, check_new
from csm_emulator.services.smd.responses import all_created, message, problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply

_NO_XNAME = "invalid xname ID"


@dataclass(frozen=True, slots=True)
class MemberCollection:
    """All groups, or all partitions, by name."""

    hsm: Hsm
    table: RecordTable[Record]
    word: str
    same_name_conflict: str
    """The text of a 409 for a second one with the same name."""
    other_member_conflict: str
    conflicting_members: Callable[[Json], frozenset[str]]
    """Returns the xnames that cannot be members of a record, because another one has them."""

    @property
    def base(self) -> str:
        return f"/hsm/v2/{self.word}s"

    def insert(self, name: str, record: Json) -> Reply:
        if name in self.table:
            return self._conflict(self.same_name_conflict)
        if refusal := self._check_members(record, record["members"]["ids"], (), self.same_name_conflict):
            return refusal
        self.table[name] = record
        return all_created(self.base, [f"{self.base}/{name}"])

    def delete(self, name: str) -> Reply:
        if name not in self.table:
            return problem(404, f"no such {self.word}.")
        del self.table[name]
        return message("deleted 1 entry")

    def missing(self, name: str) -> Reply | None:
        return None if name in self.table else problem(404, f"No such {self.word}: {name}")

    def add_member(self, name: str, call: Call) -> Reply:
        xname = verified(decode(call.body, MEMBER)["id"])
        if not xname:
            return problem(400, _NO_XNAME)
        if missing := self.missing(name):
            return missing
        record = self.table[name]
        ids = record["members"]["ids"]
        if refusal := self._check_members(record, [xname], ids, f"member in the same {self.word}."):
            return refusal
        self.table[name] = {**record, "members": {"ids": [*ids, xname]}}
        return all_created(self.base, [f"{self.base}/{name}/members/{xname}"])

    def drop_member(self, name: str, call: Call) -> Reply:
        xname = verified(call.args["xname_id"])
        if not xname:
            return problem(400, _NO_XNAME)
        if missing := self.missing(name):
            return missing
        record = self.table[name]
        remaining = [member for member in record["members"]["ids"] if member != xname]
        if len(remaining) == len(record["members"]["ids"]):
            return problem(404, f"{self.word} has no such member.")
        self.table[name] = {**record, "members": {"ids": remaining}}
        return message("deleted 1 entry")

    def _check_members(
        self, record: Json, new: list[str], present: list[str] | tuple[()], duplicate: str
    ) -> Reply | None:
        try:
            check_new(self.hsm, new, present, self.conflicting_members(record), self.other_member_conflict)
        except DuplicateMember as conflict:
            return self._conflict(str(conflict) or duplicate)
        except (HmsError, DatabaseError) as error:
            return store_error(error)
        return None

    def _conflict(self, conflict: str) -> Reply:
        return problem(409, f"operation would conflict with an existing {conflict}")


def store_error(error: HmsError | DatabaseError) -> Reply:
    return error_reply(error, database_message="operation 'POST' failed during store.")
