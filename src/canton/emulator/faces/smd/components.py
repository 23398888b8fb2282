"""Not built yet."""

from __future__ import annotations

from collections.abc import Sequence

from canton.emulator.faces.smd.hsm import Hsm
from canton.emulator.wire.routes import Route


def routes(hsm: Hsm) -> Sequence[Route]:
    return ()
