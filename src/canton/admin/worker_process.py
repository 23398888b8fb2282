"""The worker of ``canton serve --all``: a process of its own, started again when it dies.

A process, not a task: a defect or a busy loop in one does not hold up the other, and what is killed with -9 can be
replaced. It ends when its standard input does, so that it does not outlive a server that was killed.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping
from contextlib import suppress

COMMAND = (sys.executable, "-m", "canton", "worker", "--until-eof")
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
log = logging.getLogger("canton.serve")


class WorkerProcess:
    def __init__(self, environment: Mapping[str, str], grace: float) -> None:
        self._environment = environment
        # The worker's own limit for its device calls, and 5 s for it to end.
        self._stop_timeout = grace + 5.0
        self._process: Process | None = None
        self._supervising: asyncio.Task[None] | None = None
        self._stopping = False

    def start(self) -> None:
        self._supervising = asyncio.create_task(self._supervise())

    def request_stop(self) -> None:
        self._stopping = True
        # Not by a signal: Ctrl-C reached it already, and a second signal means at once.
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    async def stop(self) -> None:
        """Stop the worker and wait until its process has ended."""
        self.request_stop()
        if self._process is not None:
            try:
                async with asyncio.timeout(self._stop_timeout):
                    await self._process.wait()
            except TimeoutError:
                log.warning(
                    "the worker did not stop within %g s and is killed; another will take over", self._stop_timeout
                )
                self.kill()
        if self._supervising is not None:
            self._supervising.cancel()
            await asyncio.gather(self._supervising, return_exceptions=True)

    def kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()

    async def _supervise(self) -> None:
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            self._process = await asyncio.create_subprocess_exec(*COMMAND, stdin=PIPE, env=dict(self._environment))
            status = await self._process.wait()
            if self._stopping:
                return
            # One that ran for a while died of something new; one that cannot start should not fill the log.
            if time.monotonic() - began > LONGEST_PAUSE:
                pause = FIRST_PAUSE
            log.error("the worker ended with status %s; another starts in %g s", status, pause)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
