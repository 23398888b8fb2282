"""Power of nodes in a folder: one file per node, with the node's name, that says ``on``, ``off`` or ``unknown``."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from canton.contracts.guard import Guard
from canton.contracts.power import PowerState
from canton.domain.errors import InvalidXname, PermanentFailure, StepFailure, TemporaryFailure
from canton.domain.xname.xname import parse

MAX_LENGTH = 64


class FolderPower:
    """A node without a file is not known to this site. ``latency`` is how long a switch takes for each node."""

    def __init__(self, folder: Path, latency: float = 0.0) -> None:
        self.folder = folder
        self.latency = latency

    async def states(self, nodes: Sequence[str]) -> Mapping[str, PowerState | StepFailure]:
        return await asyncio.to_thread(lambda: {node: self._read(node) for node in nodes})

    async def switch(self, nodes: Sequence[str], to: PowerState, guard: Guard) -> Mapping[str, StepFailure]:
        failures: dict[str, StepFailure] = {}
        for node in nodes:
            if self.latency:
                await asyncio.sleep(self.latency)
            state = await asyncio.to_thread(self._read, node)
            if isinstance(state, StepFailure):
                failures[node] = state
                continue
            guard()
            await asyncio.to_thread(self._write, node, to)
        return failures

    def _read(self, node: str) -> PowerState | StepFailure:
        try:
            # A name that is not an xname could lead out of the folder.
            text = (self.folder / str(parse(node))).read_text(encoding="utf-8")[:MAX_LENGTH].strip()
            return PowerState(text)
        except (FileNotFoundError, InvalidXname):
            return PermanentFailure(
                f"{node} is not known to the site's power service",
                cause=f'{self.folder} holds no file of that name; write "off" into one',
                node=node,
            )
        except (OSError, UnicodeDecodeError) as error:
            raise TemporaryFailure(f"the power of {node} cannot be read", cause=str(error), node=node) from error
        except ValueError:
            return PowerState.UNKNOWN

    def _write(self, node: str, to: PowerState) -> None:
        """Replace the file in one step: a worker may be killed at any instant."""
        try:
            number, temporary = tempfile.mkstemp(prefix=".", dir=self.folder)
        except OSError as error:
            raise TemporaryFailure(f"the power of {node} cannot be switched", cause=str(error), node=node) from error
        try:
            with os.fdopen(number, "w", encoding="utf-8") as file:
                file.write(to)
            Path(temporary).replace(self.folder / node)
        except OSError as error:
            with suppress(OSError):
                Path(temporary).unlink()
            raise TemporaryFailure(f"the power of {node} cannot be switched", cause=str(error), node=node) from error
