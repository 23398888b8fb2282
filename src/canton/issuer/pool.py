"""The issuer's own threads, so that a flood of logins, which need no token, takes no thread from the API."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread

from canton.issuer.oauth import OAuthError

# Checking a password takes 16 MB and a tenth of a second of a processor.
THREADS = 4
WAITING = 16
RETRY_AFTER = 2


class Pool:
    """At most ``THREADS`` requests run, ``WAITING`` more wait without a thread, and further ones are refused at once.

    Used by one event loop only.
    """

    def __init__(self) -> None:
        self._limiter: CapacityLimiter | None = None
        self._requests = 0

    def endpoint(self, work: Callable[..., Any]) -> Callable[..., Any]:
        """The function as an endpoint of FastAPI that runs in this pool and not in the server's shared threads."""

        async def run(**parameters: Any) -> Any:
            return await self._run(partial(work, **parameters))

        run.__signature__ = inspect.signature(work, eval_str=True)  # type: ignore[attr-defined]  # FastAPI reads it
        return run

    async def _run(self, work: Callable[[], Any]) -> Any:
        if self._requests >= THREADS + WAITING:
            raise OAuthError(
                "temporarily_unavailable", "too many people log in right now; try again in a moment", 503, RETRY_AFTER
            )
        self._limiter = self._limiter or CapacityLimiter(THREADS)
        self._requests += 1
        try:
            return await to_thread.run_sync(work, limiter=self._limiter)
        finally:
            self._requests -= 1
