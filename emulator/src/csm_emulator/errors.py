"""Errors that the emulator raises on purpose.

    EmulatorError
    ├── InvalidInput       an option, a request or a file cannot be used        400, exit code 2
    │   ├── InvalidMachine   a topology, an SLS dump, a saved state, a fault
    │   ├── InvalidXname     a text is not an xname
    │   └── InvalidNodeset   a text is not a nodeset
    ├── NotFound           the named object does not exist                      404, exit code 3
    └── Unavailable        a file, a disk or a port cannot be used now          503, exit code 8

The control API answers with ``status`` and ``code``; the command ends with ``exit_code``.
"""

from __future__ import annotations

from typing import ClassVar


class EmulatorError(Exception):
    """The root of the tree; each leaf has a code, an HTTP status and an exit code of the command."""

    code: ClassVar[str]
    status: ClassVar[int]
    exit_code: ClassVar[int]

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidInput(EmulatorError):
    code, status, exit_code = "invalid", 400, 2


class InvalidMachine(InvalidInput):
    code = "invalid-machine"


class InvalidXname(InvalidInput):
    code = "invalid-xname"


class InvalidNodeset(InvalidInput):
    code = "invalid-nodeset"


class NotFound(EmulatorError):
    code, status, exit_code = "not-found", 404, 3


class Unavailable(EmulatorError):
    code, status, exit_code = "unavailable", 503, 8
