"""Requests generated from HPE's files are sent to the emulator, and every reply is checked against the file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from zlib import crc32

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Err

from conformance.contracts import Contract, description
from conformance.names import names_of
from conformance.plausible_requests import use_existing_names
from conformance.samples import SAMPLES
from conformance.seed_records import seed as seed_records
from conformance.strict_schemas import strict_schema
from conformance.violations import describe
from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply

BASE = "http://service"
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@dataclass(frozen=True, slots=True)
class Finding:
    """A reply that does not match the file."""

    service: str
    operation: str
    status: int
    what: str

    def __str__(self) -> str:
        return f"{self.service} {self.operation} → {self.status}: {self.what}"


@dataclass(slots=True)
class Findings:
    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    """Counts of each status, by operation."""
    violations: dict[Finding, str] = field(default_factory=dict)
    """Each with one request that leads to it."""
    server_errors: dict[Finding, str] = field(default_factory=dict)

    @property
    def replies(self) -> int:
        return sum(counter.total() for counter in self.statuses.values())

    @property
    def successes(self) -> int:
        return sum(count for counter in self.statuses.values() for status, count in counter.items() if status < 300)

    @property
    def never_successful(self) -> list[str]:
        """The operations with no successful reply."""
        return [label for label, counts in self.statuses.items() if min(counts, default=400) >= 300]


def examine(
    contract: Contract, open_site: Callable[[], Site], examples: int, chosen: Callable[[str], bool], draw: int = 0
) -> Findings:
    """Examines each chosen operation on a machine of its own, so that none changes the replies of another.

    Requests are the same for the same number of the ``draw``, whatever the functions and variables here are called.
    """
    findings = Findings()
    schema = schemathesis.openapi.from_dict(strict_schema(description(contract)))
    for result in schema.get_all_operations():
        if isinstance(result, Err):
            raise result.err()
        operation = result.ok()
        if chosen(label_of(operation)):
            _Examination(contract, operation, open_site(), findings, draw).run(examples)
    return findings


def label_of(operation: Any) -> str:
    return f"{operation.method.upper()} {operation.path}"


class _Examination:
    """The examination of one operation."""

    def __init__(self, contract: Contract, operation: Any, site: Site, findings: Findings, draw: int) -> None:
        self._contract = contract
        self._operation = operation
        self._site = site
        self._findings = findings
        self._label = label_of(operation)
        self._draw = crc32(f"{contract.service} {self._label} {draw}".encode())
        self._statuses = findings.statuses.setdefault(self._label, Counter())
        seeded = seed_records(site, contract.service)
        self._names = {**names_of(site, contract.service, operation.path), **seeded}
        self._samples = SAMPLES.get(contract.service, {}).get(self._label, ())

    def run(self, examples: int) -> None:
        self._run(self._operation.as_strategy(), examples if self._takes_something() else 1)
        if self._operation.body or self._operation.query:
            with suppress(Unsatisfiable):  # the operation accepts every input
                self._run(self._operation.as_strategy(generation_mode=GenerationMode.NEGATIVE), max(1, examples // 5))

    def _takes_something(self) -> bool:
        operation = self._operation
        return bool(operation.body or operation.path_parameters or operation.query or self._samples)

    def _run(self, cases: st.SearchStrategy[Any], examples: int) -> None:
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @seed(self._draw)
        @given(case=cases, choices=st.integers(0, 2**32 - 1))
        def send_one(case: Any, choices: int) -> None:
            random = Random(choices)
            use_existing_names(case, self._names, self._samples, random)
            self._send(case, random.choice(["127.0.0.1", *self._names["peer"]]))

        send_one()

    def _send(self, case: Any, peer: str) -> None:
        request = requests.Request(**_without_extras(case.as_transport_kwargs(base_url=BASE))).prepare()
        reply = self._site.ask(self._contract.service, _call(self._contract, request, peer))
        self._statuses[reply.status] += 1
        example = f"{request.method} {request.url} {request.body!r} → {reply.status} {reply.body[:300]!r}"
        for failure in _failures(case, request, reply):
            self._findings.violations.setdefault(self._finding(reply, failure), example)
        if reply.status >= 500:
            self._findings.server_errors.setdefault(self._finding(reply, reply.body.decode(errors="replace")), example)

    def _finding(self, reply: Reply, problem: str) -> Finding:
        return Finding(self._contract.service, self._label, reply.status, problem)


def _failures(case: Any, request: requests.PreparedRequest, reply: Reply) -> Iterator[str]:
    headers = {name.lower(): [value] for name, value in reply.headers}
    if reply.media:
        headers["content-type"] = [reply.media]
    response = schemathesis.Response(reply.status, headers, reply.body, request, 0.01, verify=False)
    try:
        case.validate_response(response, checks=CHECKS)
    except FailureGroup as group:
        yield from map(describe, group.exceptions)


def _without_extras(kwargs: dict[str, Any]) -> dict[str, Any]:
    allowed = ("method", "url", "headers", "params", "data", "json", "files", "cookies")
    return {name: value for name, value in kwargs.items() if name in allowed}


def _call(contract: Contract, request: requests.PreparedRequest, peer: str) -> Call:
    place = urlsplit(request.url or "")
    body = request.body or b""
    if isinstance(body, str):
        body = body.encode()
    if not isinstance(body, bytes):
        raise TypeError(f"a body of type {type(body).__name__} cannot be sent")
    base_path = description(contract).get("basePath", "")
    path = unquote(place.path).removeprefix(base_path)
    return Call(
        request.method or "",
        contract.prefix + path,
        tuple(parse_qsl(place.query, keep_blank_values=True)),
        {name.lower(): str(value) for name, value in request.headers.items()},
        body,
        peer,
        BASE,
        target=f"{place.path}?{place.query}",
    )
