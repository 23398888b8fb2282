"""Failures inside BOS that clients see: in session errors, component errors and error responses.

The real service reports Python exceptions with the names of their classes, so the names are part of its interface.
"""

from __future__ import annotations

S3_ERRORS = "bos.common.clients.s3.exceptions"
API_ERROR = "bos.common.clients.endpoints.exceptions.ApiResponseError"
HSM_ERROR = "bos.common.clients.hsm.exceptions.HWStateManagerException"
PCS_ERROR = "bos.common.clients.pcs.exceptions.PowerControlException"


class Failure(Exception):
    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def qualified_message(self) -> str:
        """The message after its class name, with the final newline that Python's traceback module adds."""
        text = str(self)
        return f"{self.kind}: {text}\n" if text else f"{self.kind}\n"


def failure_of(error: Exception) -> Failure:
    """The failure that reports a Python exception under the name of its class."""
    if isinstance(error, Failure):
        return error
    kind = type(error)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return Failure(name, str(error))


def s3_failure(name: str, message: str) -> Failure:
    return Failure(f"{S3_ERRORS}.{name}", message)
