"""The emulator over sockets, for faults of the listener: paths, methods, headers, empty bodies."""

from __future__ import annotations

import asyncio
import threading
from functools import partial

from csm_emulator.transport.admission import admit_all
from csm_emulator.transport.asgi import App
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.listeners import Listener, Servers, bind
from differential.answers import Answer
from differential.backends import SERVICES, Emulator
from differential.sequence import Sequence, Step
from differential.wire import Wire

BODY = 16 << 20


class SocketEmulator:
    """A machine in this process behind real listeners, one for each service."""

    def __init__(self, emulator: Emulator) -> None:
        self._emulator = emulator
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
        if self._emulator.site is None:
            raise RuntimeError("forget() comes first")
        self._emulator.site.step(0.001)
        return self._emulator.site.ask(service, call)

    def close(self) -> None:
        self._wire.close()
        asyncio.run_coroutine_threadsafe(self._servers.stop(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _reset(self, sequence: Sequence) -> bool:
        return self._emulator.reset(sequence)

    def reset(self, sequence: Sequence) -> bool:
        # SQLite requires the same thread for opening and closing.
        return asyncio.run_coroutine_threadsafe(self._reset(sequence), self._loop).result(10)

    def mark_prepared(self) -> None:
        """Every sequence has a new machine."""

    def send(self, step: Step) -> Answer:
        return self._wire.ask(step.service, step.method, step.path, step.payload(), step.headers)

    async def _pause(self, seconds: float) -> None:
        self._emulator.pause(seconds)

    def pause(self, seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(self._pause(seconds), self._loop).result(10)
