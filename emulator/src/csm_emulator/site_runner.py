"""Runs a site in real time: requests one at a time, due actions between them, the state saved once a second."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import sqlite3
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from csm_emulator.context import Post, PublicAddresses
from csm_emulator.errors import InvalidMachine, NotFound, Unavailable
from csm_emulator.gateway.gateway import Gateway
from csm_emulator.machine_choice import MachineRequest, choose_machine
from csm_emulator.records import Json
from csm_emulator.site import Site
from csm_emulator.state.file import StateFile
from csm_emulator.transport.admission import AdmittedRequest
from csm_emulator.transport.call import Call, ConnectionAborted, Reply
from csm_emulator.transport.external_answers import Answers, ExternalAnswers
from csm_emulator.transport.external_servers import AnswerPending
from csm_emulator.transport_faults import CONNECTION_FAILURE, ReplyWithFaults

log = logging.getLogger("csm_emulator")
SAVE_INTERVAL = 1.0
LONGEST_SLEEP = 1.0
SHORTEST_SLEEP = 0.002
MAX_EXTERNAL_REQUESTS = 100
"""External servers that one request may ask."""


class SiteRunner:
    """Everything runs on one event loop, one thing at a time: nothing else changes the machine."""

    def __init__(
        self,
        state_file: StateFile,
        request: MachineRequest,
        post: Post,
        public_addresses: PublicAddresses | None = None,
    ) -> None:
        self._post = post
        self._outside = ExternalAnswers()
        self._wake_event = asyncio.Event()
        self._step_lock = asyncio.Lock()
        self._use_site(Site(choose_machine(state_file, request), state_file, post, public_addresses, self._outside))

    def _use_site(self, site: Site) -> None:
        site.scheduler.on_error = _log_action_error
        self.site = site
        self.gateway = Gateway(site.context, site.services.values())

    def close(self) -> None:
        """Ends watches and logs that clients follow."""
        self.site.close()

    def load(self, path: Path) -> None:
        """Replaces the machine by a saved state; if that cannot be read, nothing changes."""
        state_file = self.site.state_file
        with TemporaryDirectory() as folder:
            copy = _copy(path, Path(folder) / "saved", state_file.path)
            try:
                _check_loadable(copy)
                state_file.replace_with(copy)
            except (InvalidMachine, sqlite3.Error, LookupError, ValueError, TypeError, AttributeError) as error:
                reason = error.message.replace(str(copy), "it") if isinstance(error, InvalidMachine) else repr(error)
                raise InvalidMachine(f"{path} cannot be read as a state: {reason}") from error
        previous_site = self.site
        self._use_site(
            Site(
                choose_machine(state_file, MachineRequest()),
                state_file,
                self._post,
                previous_site.context.public_addresses,
                self._outside,
            )
        )
        previous_site.close()
        self.wake()

    def wake(self) -> None:
        """Call it after a change: something may be due earlier now, and followers look again."""
        self._wake_event.set()
        self.site.context.change_signal.notify()

    def admit_at_gateway(self, call: Call) -> AdmittedRequest | Reply:
        """Checks token and policy by the head of a request, as Envoy does, before the body is read."""
        self.site.catch_up()
        routed = self.gateway.answer(call)
        if isinstance(routed, Reply):
            return routed
        name, inner = routed
        service = self.site.services[name]
        too_large = self.gateway.decorate(service.too_large)
        return AdmittedRequest(partial(self._answer_behind_gateway, name, inner), service.body_limit, too_large)

    async def _answer_behind_gateway(self, service: str, inner: Call, call: Call) -> Reply:
        began = time.monotonic()
        reply = await self.answer_at(service, replace(inner, body=call.body))
        return self.gateway.decorate(reply, time.monotonic() - began)

    async def answer_at(self, service: str, call: Call) -> Reply:
        """The response of a service to a request without gateway, as from inside the cluster."""
        self.site.catch_up()
        return await self._deliver(await self._answer_with_external(service, call))

    async def _answer_with_external(self, service: str, call: Call) -> ReplyWithFaults:
        """Handles the request again from the start with each answer of an external server that it needs."""
        answers: Answers = {}
        for _ in range(MAX_EXTERNAL_REQUESTS + 1):
            try:
                with self._outside.use(answers):
                    return self.site.answer(service, call)
            except AnswerPending as unheard:
                answers[unheard.question] = await self._outside.ask(unheard.question)
                self.site.catch_up()
        return ReplyWithFaults(CONNECTION_FAILURE)

    async def _deliver(self, outcome: ReplyWithFaults) -> Reply:
        self.wake()
        reply = await self._wait_for_reply(outcome.reply)
        if outcome.delay:
            await asyncio.sleep(outcome.delay)
        if outcome.lost:
            raise ConnectionAborted
        return reply

    async def _wait_for_reply(self, reply: Reply) -> Reply:
        """Waits for a response that comes later (``Reply.later``), while other requests are handled."""
        change_signal = self.site.context.change_signal
        while reply.later is not None:
            ready = reply.later()
            if ready is not None:
                return ready
            if not await change_signal.wait(LONGEST_SLEEP):
                raise ConnectionAborted
        return reply

    async def step(self, seconds: float) -> None:
        """Moves time forward, handling requests meanwhile; steps queue up. Loading a state ends the step."""
        async with self._step_lock:
            site = self.site
            goal = site.clock.unheld_now() + seconds
            arrived = False
            while self.site is site and not arrived:
                arrived = site.advance_towards(goal)
                site.context.change_signal.notify()
                await self._outside.turn()
        self.wake()

    async def tick_forever(self) -> None:
        while True:
            caught_up = self.site.catch_up()
            self.site.context.change_signal.notify()
            if not caught_up:
                await self._outside.turn()
                continue
            self._wake_event.clear()
            moment = self.site.scheduler.next_moment()
            wait = LONGEST_SLEEP if moment is None else self.site.clock.wall_seconds_until(moment)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake_event.wait(), min(max(wait, SHORTEST_SLEEP), LONGEST_SLEEP))

    async def save_forever(self) -> None:
        while True:
            await asyncio.sleep(SAVE_INTERVAL)
            try:
                self.site.save()
            except Unavailable as error:
                # For example a full disk: the changes are kept, and written the next time.
                log.error("%s", error)  # noqa: TRY400 (one line is enough)


def _copy(path: Path, target: Path, own: Path) -> Path:
    """A copy of the file: opening the original would write to it, and another emulator may have locked it."""
    try:
        if not path.is_file():
            raise NotFound(f"{path} does not exist")
        if path.samefile(own):
            raise InvalidMachine(f"{path} is the state file in use; name another file")
        return Path(shutil.copyfile(path, target))
    except (OSError, shutil.SpecialFileError, ValueError) as error:
        raise InvalidMachine(f"{path} cannot be read: {error}; name another file") from error


def _check_loadable(path: Path) -> None:
    """Opens the saved state once, so that an error shows before the current state is replaced."""
    with contextlib.closing(StateFile(path)) as saved:
        if saved.metadata("topology") is None:
            raise InvalidMachine("the file holds no machine; `csm-emulator save FILE` writes one")
        Site(choose_machine(saved, MachineRequest()), saved).close()


def _log_action_error(kind: str, args: list[Json]) -> None:
    log.exception("error in the emulator: the action %s %s failed", kind, args)
