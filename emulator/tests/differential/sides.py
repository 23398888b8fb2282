"""The two who are asked: the real services over HTTP, and a machine in this process."""

from __future__ import annotations

import http.client
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg

from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile
from csm_emulator.transport.call import Call
from differential.answers import Answer
from differential.sequence import Sequence, Step
from differential.wire import TIMEOUT, Wire

SERVICES = ("smd", "bss", "sls")
VARIABLES = {service: f"CANTON_TEST_{service.upper()}" for service in SERVICES}

_FORGET_SMD = """
SET session_replication_role = replica;
DELETE FROM component_group_members; DELETE FROM component_groups; DELETE FROM components; DELETE FROM reservations;
DELETE FROM comp_endpoints; DELETE FROM service_endpoints; DELETE FROM rf_endpoints; DELETE FROM comp_eth_interfaces;
DELETE FROM hsn_interfaces; DELETE FROM hwinv_by_loc; DELETE FROM hwinv_by_fru; DELETE FROM hwinv_hist;
DELETE FROM job_state_rf_poll; DELETE FROM job_sync; DELETE FROM node_nid_mapping; DELETE FROM power_mapping;
DELETE FROM scn_subscriptions; DELETE FROM discovery_status WHERE id <> 0;
UPDATE discovery_status SET status = 'NotStarted', last_update = now(), details = '{}';
ALTER SEQUENCE scn_subscriptions_id_seq RESTART
"""
_FORGET_SLS = """
DELETE FROM components; DELETE FROM network; DELETE FROM version_history WHERE version > 1;
UPDATE version_history SET timestamp = now();
ALTER SEQUENCE version_history_version_seq RESTART WITH 2
"""
SUBSCRIPTIONS = "/hsm/v2/Subscriptions/SCN"
_READS = {"GET", "HEAD", "OPTIONS"}


class Side(Protocol):
    """What a sequence is played to."""

    def forget(self, sequence: Sequence) -> bool:
        """Begin anew; whether what is given is still in place and need not be sent."""

    def settle(self) -> None:
        """What was given is in place now."""

    def send(self, step: Step) -> Answer: ...

    def pause(self, seconds: float) -> None: ...


class Oracles:
    """The real services that ``.ci/oracles`` started."""

    def __init__(self, addresses: Mapping[str, str], folder: Path) -> None:
        self._wire = Wire(addresses)
        database = (folder / "database").read_text().strip().rpartition("/")[0]
        self._smd = psycopg.connect(f"{database}/hmsds", autocommit=True)
        self._sls = psycopg.connect(f"{database}/sls", autocommit=True)
        self._etcd = http.client.HTTPConnection(urlsplit((folder / "etcd").read_text().strip()).netloc, timeout=TIMEOUT)
        self._given: tuple[Step, ...] = ()
        self._changed = {*SERVICES, SUBSCRIPTIONS}
        self._bss_is_stale = True

    def close(self) -> None:
        self._wire.close()
        self._etcd.close()
        for database in (self._smd, self._sls):
            database.close()

    def forget(self, sequence: Sequence) -> bool:
        kept = bool(sequence.given) and sequence.given == self._given and "smd" not in self._changed
        if not kept:
            self._forget_smd()
        if "sls" in self._changed:
            self._sls.execute(_FORGET_SLS)
        if "bss" in self._changed:
            # "\0" up to "\0" means all keys.
            self._etcd.request("POST", "/v3/kv/deleterange", json.dumps({"key": "AA==", "range_end": "AA=="}))
            self._etcd.getresponse().read()
        if self._bss_is_stale and any(step.service == "bss" for step in sequence.steps):
            self._refresh_bss()
        self._changed = set()
        self._given = sequence.given
        return kept

    def _forget_smd(self) -> None:
        if SUBSCRIPTIONS in self._changed:
            # SMD has them in memory too.
            self._wire.ask("smd", "DELETE", SUBSCRIPTIONS, None, {})
        if "smd" in self._changed or self._given:
            self._smd.execute(_FORGET_SMD)
            self._bss_is_stale = True

    def _refresh_bss(self) -> None:
        """BSS reads HSM again when asked, but not twice in a second by its clock."""
        time.sleep(1.0 - time.time() % 1.0 + 0.002)
        self._wire.ask("bss", "POST", "/boot/v1/hosts", None, {})
        self._bss_is_stale = False

    def settle(self) -> None:
        """What all sequences with this inventory share is no change to it."""
        self._changed.discard("smd")

    def send(self, step: Step) -> Answer:
        if step.method not in _READS or step.service == "bss":  # reading leaves a trace in the endpoint history
            self._changed.add(step.service)
        if step.path.startswith(SUBSCRIPTIONS):
            self._changed.add(SUBSCRIPTIONS)
        return self._wire.ask(step.service, step.method, step.path, step.payload(), step.headers)

    def pause(self, seconds: float) -> None:
        time.sleep(seconds)


@dataclass(slots=True)
class Emulator:
    """A machine in this process, mostly one without hardware."""

    folder: Path
    topology: str = "empty"
    site: Site | None = None
    count: int = 0

    def close(self) -> None:
        if self.site is not None:
            self.site.state_file.close()

    def forget(self, sequence: Sequence) -> bool:  # noqa: ARG002 (a new machine each time, whatever is played)
        self.close()
        self.count += 1
        kept = StateFile(self.folder / f"{self.count}.state")
        # A moment with a fraction, as moments have.
        self.site = Site(
            StartOptions(topologies.load(self.topology), seed=self.count, speed=0.0, moment=time.time() + 1e-4), kept
        )
        return False

    def settle(self) -> None:
        """Every machine is a new one."""

    def send(self, step: Step) -> Answer:
        if self.site is None:
            raise RuntimeError("forget() comes first")
        self.site.step(0.001)
        reply = self.site.ask(step.service, call(step))
        headers = {name.lower(): value for name, value in reply.headers}
        if reply.media:
            headers["content-type"] = reply.media
        return Answer(reply.status, headers, b"" if step.method == "HEAD" else reply.body)

    def pause(self, seconds: float) -> None:
        if self.site is not None:
            self.site.step(seconds)


def call(step: Step) -> Call:
    """What the listener would make of it."""
    path, _, query = step.path.partition("?")
    body = step.payload()
    headers = {"host": f"cray-{step.service}"} | ({"content-type": "application/json"} if body is not None else {})
    return Call(
        step.method,
        unquote(path),
        tuple(parse_qsl(query, keep_blank_values=True)),
        headers | {name.lower(): value for name, value in step.headers.items()},
        body or b"",
        "127.0.0.1",
        f"http://cray-{step.service}",
        target=step.path,
    )


def addresses() -> dict[str, str] | None:
    """Where the real services are; None when they were not started."""
    found = {service: os.environ.get(variable, "") for service, variable in VARIABLES.items()}
    return found if all(found.values()) and os.environ.get("CANTON_TEST_ORACLES") else None


def oracles() -> Oracles:
    found = addresses()
    if found is None:
        raise RuntimeError("the real services are not there: eval \"$(.ci/oracles start DIR | sed 's/^/export /')\"")
    return Oracles(found, Path(os.environ["CANTON_TEST_ORACLES"]))


def emulator(folder: str) -> Emulator:
    return Emulator(Path(folder))
