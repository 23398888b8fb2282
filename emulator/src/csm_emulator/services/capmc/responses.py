"""CAPMC's shapes: an error number and a message beside whatever else there is to say."""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.transport.call import Reply, json_reply

INVALID = 22
"""EINVAL, which most refusals carry."""


class CapmcError(Exception):
    """Becomes the answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class InvalidIds(Exception):
    """Some of the names or numbers are of no use."""

    def __init__(self, message: str, ids: Iterable[object]) -> None:
        self.message = message
        self.ids = list(ids)
        super().__init__(f"{message}: {go_list(self.ids)}")


def error_reply(status: int, message: str, headers: tuple[tuple[str, str], ...] = ()) -> Reply:
    return json_reply({"e": status, "err_msg": message}, status, headers=headers)


def go_list(values: Iterable[object]) -> str:
    """As ``%v`` prints a slice."""
    return f"[{' '.join(map(str, values))}]"
