"""What is done alike to groups and to partitions, and to the members of either."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from csm_emulator.dialects.go_json.reader import decode
from csm_emulator.dialects.hms.names import verified
from csm_emulator.records import Json
from csm_emulator.services.smd.database import Hsm
from csm_emulator.services.smd.errors import DatabaseError, Refusal, refused
from csm_emulator.services.smd.groups.members import MEMBER, Conflict, check_new
from csm_emulator.services.smd.responses import all_created, message, problem
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply

_NO_XNAME = "invalid xname ID"


@dataclass(frozen=True, slots=True)
class Collection:
    """All groups, or all partitions, by name."""

    hsm: Hsm
    table: RecordTable
    word: str
    same: str
    """By what two of them would be the same."""
    elsewhere: str
    taken: Callable[[Json], frozenset[str]]
    """Who cannot be a member of this one, being one of others."""

    @property
    def base(self) -> str:
        return f"/hsm/v2/{self.word}s"

    def insert(self, name: str, record: Json) -> Reply:
        if name in self.table:
            return self._conflict(self.same)
        if refusal := self._refuse(record, record["members"]["ids"], (), self.same):
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
        if refusal := self._refuse(record, [xname], ids, f"member in the same {self.word}."):
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
        left = [other for other in record["members"]["ids"] if other != xname]
        if len(left) == len(record["members"]["ids"]):
            return problem(404, f"{self.word} has no such member.")
        self.table[name] = {**record, "members": {"ids": left}}
        return message("deleted 1 entry")

    def _refuse(self, record: Json, new: list[str], present: list[str] | tuple[()], same: str) -> Reply | None:
        try:
            check_new(self.hsm, new, present, self.taken(record), self.elsewhere)
        except Conflict as conflict:
            return self._conflict(str(conflict) or same)
        except (Refusal, DatabaseError) as error:
            return not_stored(error)
        return None

    def _conflict(self, what: str) -> Reply:
        return problem(409, f"operation would conflict with an existing {what}")


def not_stored(error: Refusal | DatabaseError) -> Reply:
    return refused(error, hidden="operation 'POST' failed during store.")
