"""The two backends that are compared: the real services over HTTP, and an emulator in this process."""

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

_RESET_SMD = """
SET session_replication_role = replica;
DELETE FROM component_group_members; DELETE FROM component_groups; DELETE FROM components; DELETE FROM reservations;
DELETE FROM comp_endpoints; DELETE FROM service_endpoints; DELETE FROM rf_endpoints; DELETE FROM comp_eth_interfaces;
DELETE FROM hsn_interfaces; DELETE FROM hwinv_by_loc; DELETE FROM hwinv_by_fru; DELETE FROM hwinv_hist;
DELETE FROM job_state_rf_poll; DELETE FROM job_sync; DELETE FROM node_nid_mapping; DELETE FROM power_mapping;
DELETE FROM scn_subscriptions; DELETE FROM discovery_status WHERE id <> 0;
UPDATE discovery_status SET status = 'NotStarted', last_update = now(), details = '{}';
ALTER SEQUENCE scn_subscriptions_id_seq RESTART
"""
_RESET_SLS = """
DELETE FROM components; DELETE FROM network; DELETE FROM version_history WHERE version > 1;
UPDATE version_history SET timestamp = now();
ALTER SEQUENCE version_history_version_seq RESTART WITH 2
"""
SUBSCRIPTIONS = "/hsm/v2/Subscriptions/SCN"
_READS = {"GET", "HEAD", "OPTIONS"}


class Backend(Protocol):
    """A set of services that a sequence is played to."""

    def reset(self, sequence: Sequence) -> bool:
        """Empty the services; True when the prerequisites of the sequence are still there, and are not to be sent."""

    def mark_prepared(self) -> None:
        """Note that the prerequisites are complete."""

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
        self._prerequisites: tuple[Step, ...] = ()
        self._changed = {*SERVICES, SUBSCRIPTIONS}
        self._bss_is_stale = True

    def close(self) -> None:
        self._wire.close()
        self._etcd.close()
        for database in (self._smd, self._sls):
            database.close()

    def reset(self, sequence: Sequence) -> bool:
        unchanged = "smd" not in self._changed
        prepared = bool(sequence.prerequisites) and sequence.prerequisites == self._prerequisites and unchanged
        if not prepared:
            self._reset_smd()
        if "sls" in self._changed:
            self._sls.execute(_RESET_SLS)
        if "bss" in self._changed:
            # "\0" up to "\0" means all keys.
            self._etcd.request("POST", "/v3/kv/deleterange", json.dumps({"key": "AA==", "range_end": "AA=="}))
            self._etcd.getresponse().read()
        if self._bss_is_stale and any(step.service == "bss" for step in sequence.steps):
            self._refresh_bss()
        self._changed = set()
        self._prerequisites = sequence.prerequisites
        return prepared

    def _reset_smd(self) -> None:
        if SUBSCRIPTIONS in self._changed:
            # SMD has them in memory too.
            self._wire.ask("smd", "DELETE", SUBSCRIPTIONS, None, {})
        if "smd" in self._changed or self._prerequisites:
            self._smd.execute(_RESET_SMD)
            self._bss_is_stale = True

    def _refresh_bss(self) -> None:
        """BSS reads HSM again when asked, but not twice in one second of its clock."""
        time.sleep(1.0 - time.time() % 1.0 + 0.002)
        self._wire.ask("bss", "POST", "/boot/v1/hosts", None, {})
        self._bss_is_stale = False

    def mark_prepared(self) -> None:
        """The inventory that sequences share does not count as a change of SMD."""
        self._changed.discard("smd")

    def send(self, step: Step) -> Answer:
        if step.method not in _READS or step.service == "bss":  # a read adds an entry to the endpoint history
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

    def reset(self, sequence: Sequence) -> bool:  # noqa: ARG002 (a new machine for every sequence)
        self.close()
        self.count += 1
        state_file = StateFile(self.folder / f"{self.count}.state")
        # The moment has a fraction of a second, as real moments have.
        self.site = Site(
            StartOptions(topologies.load(self.topology), seed=self.count, speed=0.0, moment=time.time() + 1e-4),
            state_file,
        )
        return False

    def mark_prepared(self) -> None:
        """Every sequence has a new machine."""

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
    """The step as the listener of the service would hand it over."""
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
    """The URLs of the real services; None when they were not started."""
    urls = {service: os.environ.get(variable, "") for service, variable in VARIABLES.items()}
    return urls if all(urls.values()) and os.environ.get("CANTON_TEST_ORACLES") else None


def oracles() -> Oracles:
    urls = addresses()
    if urls is None:
        raise RuntimeError("the real services are not there: eval \"$(.ci/oracles start DIR | sed 's/^/export /')\"")
    return Oracles(urls, Path(os.environ["CANTON_TEST_ORACLES"]))


def emulator(folder: str) -> Emulator:
    return Emulator(Path(folder))
