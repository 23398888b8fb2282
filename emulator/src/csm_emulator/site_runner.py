"""A site in real time: requests one after another, what is due between them, and once a second a note of it all."""

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
from typing import Any

from csm_emulator.context import Post, PublicAddresses
from csm_emulator.errors import InvalidMachine, NotFound, Unavailable
from csm_emulator.fault_injection import CONNECTION_FAILURE, ReplyWithFaults
from csm_emulator.gateway.gateway import Gateway
from csm_emulator.machine_choice import MachineRequest, choose_machine
from csm_emulator.site import Site
from csm_emulator.state.file import StateFile
from csm_emulator.transport.admission import AdmittedRequest
from csm_emulator.transport.call import Call, ConnectionAborted, Reply
from csm_emulator.transport.external_answers import Answers, ExternalAnswers
from csm_emulator.transport.external_servers import AnswerPending

log = logging.getLogger("csm_emulator")
KEEP_EVERY = 1.0
LONGEST_SLEEP = 1.0
SHORTEST_SLEEP = 0.002
MAX_EXTERNAL_REQUESTS = 100
"""Servers outside, for one request."""


class SiteRunner:
    """Everything here happens on one event loop, one thing at a time: nothing else touches the machine."""

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
        """Whoever follows something hears that it is over."""
        self.site.close()

    def load(self, path: Path) -> None:
        """Go on from a saved state; when it cannot be read, everything stays as it was."""
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
        """Something may have changed, or be due earlier than it was."""
        self._wake_event.set()
        self.site.context.change_signal.notify()

    def admit_at_gateway(self, call: Call) -> AdmittedRequest | Reply:
        """With token and policy, as from outside: like Envoy's, they are asked about the head."""
        self.site.catch_up()
        routed = self.gateway.answer(call)
        if isinstance(routed, Reply):
            return routed
        name, inner = routed
        face = self.site.services[name]
        too_large = self.gateway.decorate(face.too_large)
        return AdmittedRequest(partial(self._answer_behind_gateway, name, inner), face.body_limit, too_large)

    async def _answer_behind_gateway(self, service: str, inner: Call, call: Call) -> Reply:
        began = time.monotonic()
        reply = await self.answer_at(service, replace(inner, body=call.body))
        return self.gateway.decorate(reply, time.monotonic() - began)

    async def answer_at(self, service: str, call: Call) -> Reply:
        """Straight at the service, as from inside the cluster."""
        self.site.catch_up()
        return await self._deliver(await self._answer_with_external(service, call))

    async def _answer_with_external(self, service: str, call: Call) -> ReplyWithFaults:
        """From the start again with every answer from outside that is waited for."""
        answers: Answers = {}
        for _ in range(MAX_EXTERNAL_REQUESTS + 1):
            try:
                with self._outside.knowing(answers):
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
        """A service that answers late holds up nobody but its client."""
        change_signal = self.site.context.change_signal
        while reply.later is not None:
            ready = reply.later()
            if ready is not None:
                return ready
            if not await change_signal.wait(LONGEST_SLEEP):
                raise ConnectionAborted
        return reply

    async def step(self, seconds: float) -> None:
        """Move time on, with turns for requests on the way; one step after another. A load on the way ends it."""
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

    async def keep_forever(self) -> None:
        while True:
            await asyncio.sleep(KEEP_EVERY)
            try:
                self.site.keep()
            except Unavailable as error:
                # A full disk: what was not written is written next time, or the operator ends it.
                log.error("%s", error)  # noqa: TRY400 (one line is enough)


def _copy(path: Path, where: Path, own: Path) -> Path:
    """Opening a file as a state makes it one, and another emulator may hold it."""
    try:
        if not path.is_file():
            raise NotFound(f"no file {path}")
        if path.samefile(own):
            raise InvalidMachine(f"{path} is the state that it runs with; name another file")
        return Path(shutil.copyfile(path, where))
    except (OSError, shutil.SpecialFileError, ValueError) as error:
        raise InvalidMachine(f"{path} cannot be read: {error}; name another file") from error


def _check_loadable(path: Path) -> None:
    """What cannot be opened is found out before anything is lost."""
    with contextlib.closing(StateFile(path)) as saved:
        if saved.about("topology") is None:
            raise InvalidMachine("the file holds no machine; `csm-emulator save FILE` writes one")
        Site(choose_machine(saved, MachineRequest()), saved).close()


def _log_action_error(kind: str, args: list[Any]) -> None:
    log.exception("a mistake of the emulator: %s %s did not come to its end", kind, args)
