"""The emulator over sockets, for what only a listener can get wrong: paths, methods, headers, empty bodies."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

from csm_emulator.transport.admission import admit_all
from csm_emulator.transport.asgi import App
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.listeners import Listener, Servers, bind
from differential.answers import Answer
from differential.sequence import Sequence, Step
from differential.sides import SERVICES, Emulator
from differential.wire import Wire

BODY = 16 << 20


class Listening:
    """A machine in this process behind real listeners, one for each service."""

    def __init__(self, behind: Emulator) -> None:
        self._behind = behind
        self._loop = asyncio.new_event_loop()
        listeners = {
            service: Listener(bind("127.0.0.1", 0), App(admit_all(BODY, partial(self._answer, service))))
            for service in SERVICES
        }
        self._addresses = {service: listener.url for service, listener in listeners.items()}
        self._servers = Servers(list(listeners.values()))
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._servers.start(), self._loop).result(10)
        self._wire = Wire(self._addresses)

    def address(self, service: str) -> str:
        return self._addresses[service]

    async def _answer(self, service: str, call: Call) -> Reply:
        if self._behind.site is None:
            raise RuntimeError("forget() comes first")
        self._behind.site.step(0.001)
        return self._behind.site.ask(service, call)

    def close(self) -> None:
        self._wire.close()
        asyncio.run_coroutine_threadsafe(self._servers.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _forget(self, sequence: Sequence) -> bool:
        return self._behind.forget(sequence)

    def forget(self, sequence: Sequence) -> bool:
        # SQLite wants to be opened and closed by the same thread.
        return asyncio.run_coroutine_threadsafe(self._forget(sequence), self._loop).result(10)

    def settle(self) -> None:
        """Every machine is a new one."""

    def send(self, step: Step) -> Answer:
        return self._wire.ask(step.service, step.method, step.path, step.payload(), step.headers)

    async def _pause(self, seconds: float) -> None:
        self._behind.pause(seconds)

    def pause(self, seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(self._pause(seconds), self._loop).result(10)
