"""Requests made up from HPE's files, put to the emulator, and every reply held against what the file says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import content_type_conformance, response_schema_conformance, status_code_conformance
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Err

from canton.emulator.site import Site
from canton.emulator.wire.call import Call
from conformance.contracts import Contract, description

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
    asked: int = 0
    statuses: Counter[int] = field(default_factory=Counter)
    found: dict[Finding, str] = field(default_factory=dict)
    """With one request that shows it."""


def examine(
    contract: Contract, open_site: Callable[[], Site], names: dict[str, Sequence[str]], examples: int
) -> Findings:
    """``names`` are things that are there, by the parameter that takes them: without them all would be 404."""
    findings = Findings()
    schema = schemathesis.openapi.from_dict(description(contract))
    site = open_site()
    for result in schema.get_all_operations():
        if isinstance(result, Err):
            raise result.err()
        _examine_operation(contract, result.ok(), site, names, findings, examples)
    return findings


def _examine_operation(
    contract: Contract, operation: Any, site: Site, names: dict[str, Sequence[str]], findings: Findings, examples: int
) -> None:
    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(), chosen=st.data())
    def one(case: Any, chosen: st.DataObject) -> None:
        for name, known in names.items():
            if name in (case.path_parameters or {}) and chosen.draw(st.booleans()):
                case.path_parameters[name] = chosen.draw(st.sampled_from(list(known)))
        findings.asked += 1
        for finding, shown in _put(contract, case, site, findings):
            findings.found.setdefault(finding, shown)

    one()


def _put(contract: Contract, case: Any, site: Site, findings: Findings) -> Iterator[tuple[Finding, str]]:
    request = requests.Request(**_without_extras(case.as_transport_kwargs(base_url=BASE))).prepare()
    reply = site.ask(contract.service, _call(contract, request))
    findings.statuses[reply.status] += 1
    headers = {name.lower(): [value] for name, value in reply.headers}
    if reply.media:
        headers["content-type"] = [reply.media]
    response = schemathesis.Response(reply.status, headers, reply.body, request, 0.01, verify=False)
    try:
        case.validate_response(response, checks=CHECKS)
    except FailureGroup as group:
        operation = f"{case.method.upper()} {case.path}"
        shown = f"{request.method} {request.url} {request.body!r} → {reply.status} {reply.body[:300]!r}"
        for failure in group.exceptions:
            if isinstance(failure, Failure):
                yield Finding(contract.service, operation, reply.status, _what(failure)), shown


def _what(failure: Failure) -> str:
    first = str(failure.message).split("\n", 1)[0]
    return f"{failure.title}: {first}"


def _without_extras(kwargs: dict[str, Any]) -> dict[str, Any]:
    allowed = ("method", "url", "headers", "params", "data", "json", "files", "cookies")
    return {name: value for name, value in kwargs.items() if name in allowed}


def _call(contract: Contract, request: requests.PreparedRequest) -> Call:
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
        "127.0.0.1",
        BASE,
    )
