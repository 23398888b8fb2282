"""Requests made up from HPE's files, put to the emulator, and every reply held against what the file says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from schemathesis.core.failures import FailureGroup
from schemathesis.core.result import Err

from conformance.closing import closed
from conformance.contracts import Contract, description
from conformance.familiar import make_familiar
from conformance.furniture import furnish
from conformance.names import names_of
from conformance.samples import SAMPLES
from conformance.violations import what
from csm_emulator.site import Site
from csm_emulator.transport.call import Call, Reply

BASE = "http://service"
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]


@dataclass(frozen=True, slots=True)
class Finding:
    """A reply that is not as the file says."""

    service: str
    operation: str
    status: int
    what: str

    def __str__(self) -> str:
        return f"{self.service} {self.operation} → {self.status}: {self.what}"


@dataclass(slots=True)
class Findings:
    statuses: dict[str, Counter[int]] = field(default_factory=dict)
    """By operation."""
    found: dict[Finding, str] = field(default_factory=dict)
    """With one request that shows it."""
    server_errors: dict[Finding, str] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        return sum(each.total() for each in self.statuses.values())

    @property
    def done(self) -> int:
        return sum(count for counter in self.statuses.values() for status, count in counter.items() if status < 300)

    @property
    def never_done(self) -> list[str]:
        """The operations at which nothing succeeded."""
        return [label for label, counts in self.statuses.items() if min(counts, default=400) >= 300]


def examine(contract: Contract, open_site: Callable[[], Site], examples: int) -> Findings:
    """Each operation has a machine to itself, so that what one does never hides what another would say."""
    findings = Findings()
    schema = schemathesis.openapi.from_dict(closed(description(contract)))
    for result in schema.get_all_operations():
        if isinstance(result, Err):
            raise result.err()
        _Examination(contract, result.ok(), open_site(), findings).run(examples)
    return findings


class _Examination:
    """Of one operation."""

    def __init__(self, contract: Contract, operation: Any, site: Site, findings: Findings) -> None:
        self._contract = contract
        self._operation = operation
        self._site = site
        self._findings = findings
        self._label = f"{operation.method.upper()} {operation.path}"
        self._statuses = findings.statuses.setdefault(self._label, Counter())
        made = furnish(site, contract.service)
        self._names = {**names_of(site, contract.service, operation.path), **made}
        self._samples = SAMPLES.get(contract.service, {}).get(self._label, ())

    def run(self, examples: int) -> None:
        self._run(self._operation.as_strategy(), examples if self._takes_something() else 1)
        if self._operation.body or self._operation.query:
            with suppress(Unsatisfiable):  # where anything goes
                self._run(self._operation.as_strategy(generation_mode=GenerationMode.NEGATIVE), max(1, examples // 5))

    def _takes_something(self) -> bool:
        operation = self._operation
        return bool(operation.body or operation.path_parameters or operation.query or self._samples)

    def _run(self, cases: st.SearchStrategy[Any], examples: int) -> None:
        @settings(
            max_examples=examples,
            derandomize=True,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=cases, seed=st.integers(0, 2**32 - 1))
        def one(case: Any, seed: int) -> None:
            random = Random(seed)
            make_familiar(case, self._names, self._samples, random)
            self._put(case, random.choice(["127.0.0.1", *self._names["peer"]]))

        one()

    def _put(self, case: Any, peer: str) -> None:
        request = requests.Request(**_without_extras(case.as_transport_kwargs(base_url=BASE))).prepare()
        reply = self._site.ask(self._contract.service, _call(self._contract, request, peer))
        self._statuses[reply.status] += 1
        shown = f"{request.method} {request.url} {request.body!r} → {reply.status} {reply.body[:300]!r}"
        for failure in _failures(case, request, reply):
            self._findings.found.setdefault(self._finding(reply, failure), shown)
        if reply.status >= 500:
            self._findings.server_errors.setdefault(self._finding(reply, reply.body.decode(errors="replace")), shown)

    def _finding(self, reply: Reply, told: str) -> Finding:
        return Finding(self._contract.service, self._label, reply.status, told)


def _failures(case: Any, request: requests.PreparedRequest, reply: Reply) -> Iterator[str]:
    headers = {name.lower(): [value] for name, value in reply.headers}
    if reply.media:
        headers["content-type"] = [reply.media]
    response = schemathesis.Response(reply.status, headers, reply.body, request, 0.01, verify=False)
    try:
        case.validate_response(response, checks=CHECKS)
    except FailureGroup as group:
        yield from map(what, group.exceptions)


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
