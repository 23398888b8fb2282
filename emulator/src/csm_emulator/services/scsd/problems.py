"""Failures that SCSD's operations share."""

from __future__ import annotations

from csm_emulator.dialects.hms.responses import problem
from csm_emulator.services.scsd.targets import HsmError, NoValidTargets
from csm_emulator.transport.routes import Handler, catching


class OperationError(Exception):
    """The operation fails with a problem document: status, title, detail."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail = status, title, detail


def with_error_replies(handler: Handler) -> Handler:
    return catching(
        handler, OperationError, lambda call, failed: problem(failed.status, failed.title, failed.detail, call.path)
    )


def hsm_error(title: str, trouble: HsmError) -> OperationError:
    return OperationError(500, title, f"ERROR: Problem verifying target states: {trouble}.")


def architecture_error(error: NoValidTargets) -> OperationError:
    return OperationError(500, "Target architectures", f"ERROR: Problem determining target architectures: {error}.")
