"""The replies of CAPMC: an error number, a message, and other fields."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.transport.call import Reply, json_reply

INVALID = 22
"""EINVAL, the number of most errors."""


class CapmcError(Exception):
    """The request fails with this status and message."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class InvalidIds(Exception):
    """Some xnames or NIDs are invalid."""

    def __init__(self, message: str, ids: Iterable[object]) -> None:
        self.message = message
        self.ids = list(ids)
        super().__init__(f"{message}: {go_list(self.ids)}")


def error_reply(status: int, message: str, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return json_reply({"e": status, "err_msg": message}, status, headers=headers)


def go_list(values: Iterable[object]) -> str:
    """The values as Go's ``%v`` prints a slice."""
    return f"[{' '.join(map(str, values))}]"
