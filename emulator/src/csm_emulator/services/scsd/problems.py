"""The ways in which every operation of SCSD fails."""

from __future__ import annotations

from csm_emulator.dialects.hms.responses import problem
from csm_emulator.services.scsd.targets import HsmTrouble, NoTargets
from csm_emulator.transport.routes import Handler, catching


class Failed(Exception):
    """Ends an operation: status, title, detail."""

    def __init__(self, status: int, title: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail = status, title, detail


def answering(handler: Handler) -> Handler:
    return catching(
        handler, Failed, lambda call, failed: problem(failed.status, failed.title, failed.detail, call.path)
    )


def hsm_failed(title: str, trouble: HsmTrouble) -> Failed:
    return Failed(500, title, f"ERROR: Problem verifying target states: {trouble}.")


def no_architecture(error: NoTargets) -> Failed:
    return Failed(500, "Target architectures", f"ERROR: Problem determining target architectures: {error}.")
