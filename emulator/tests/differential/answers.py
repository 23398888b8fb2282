"""Answers of a service, and the parts of them that must be equal."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

Json = Any

COMPARED_HEADERS = ("content-type", "location", "allow", "bss-referral-token", "cache-control", "retry-after")
A_WHILE = 2 * 86400.0
"""Seconds: a time this close to now comes from a clock, any other from the request."""

# A UUID, or the tail of a cloud-init instance: x0c0s0b0n0-ce2bf8ce2a23.
UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|(?<=\w-)[0-9a-f]{12}\b")
MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?")
EPOCH = re.compile(r"\b1[789]\d{8}\b")
# Keys, moment and signature of a signed S3 address.
SIGNED = re.compile(
    r"X-Amz-Credential=\w+%2F\d{8}%2F(\S+?)&X-Amz-Date=\d{8}T\d{6}Z&(\S+?)&X-Amz-Signature=[0-9a-f]{64}(?=\s|$)"
)


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes

    def json(self) -> Json:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class MaskedAnswer:
    """An answer without the values that differ from run to run."""

    status: int
    headers: Mapping[str, str]
    body: Json


class Mask:
    """Replaces values that one side generates (identifiers, moments) by names that are the same on both sides."""

    def __init__(self, request_text: str) -> None:
        self._request_text = request_text
        self._names: dict[str, str] = {}

    def identifier(self, text: str) -> str:
        """The n-th new identifier on one side equals the n-th on the other; one of the requests stays as it is."""
        if text in self._request_text:
            return text
        return self._names.setdefault(text, f"<uuid {len(self._names) + 1}>")

    def text(self, text: str, *, identifiers: bool = True) -> str:
        text = SIGNED.sub(r"X-Amz-Credential=<key, day>%2F\1&X-Amz-Date=<now>&\2&X-Amz-Signature=<signature>", text)
        text = MOMENT.sub(_moment, text)
        text = EPOCH.sub(lambda match: "<epoch>" if is_now(float(match[0])) else match[0], text)
        return UUID.sub(lambda match: self.identifier(match[0]) if identifiers else "<uuid>", text)

    def json(self, value: Json, *, identifiers: bool = True) -> Json:
        if isinstance(value, str):
            return self.text(value, identifiers=identifiers)
        if isinstance(value, dict):
            # In the order of the names: Go writes some objects in the order of a struct and some sorted.
            return {
                self.text(name, identifiers=identifiers): self.json(value[name], identifiers=identifiers)
                for name in sorted(value)
            }
        if isinstance(value, list):
            return [self.json(item, identifiers=identifiers) for item in value]
        if isinstance(value, (int, float)) and not isinstance(value, bool) and is_now(float(value)):
            return "<epoch number>"
        return value


def is_now(moment: float) -> bool:
    return abs(moment - datetime.now(UTC).timestamp()) < A_WHILE


def _moment(match: re.Match[str]) -> str:
    day, clock, fraction, zone = match.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}+00:00").timestamp()
    except ValueError:
        return match[0]
    if not is_now(moment):
        return match[0]
    return f"<now{'.f' if fraction else ''}{zone or ''}>"


def masked(answer: Answer, mask: Mask, unordered: tuple[str, ...]) -> MaskedAnswer:
    """``unordered`` are the places of arrays whose order the real service leaves open."""
    headers = {name: mask.text(answer.headers[name]) for name in COMPARED_HEADERS if name in answer.headers}
    return MaskedAnswer(answer.status, headers, _body(answer, mask, unordered))


def _body(answer: Answer, mask: Mask, unordered: tuple[str, ...]) -> Json:
    try:
        value = json.loads(answer.body)
    except ValueError:
        return mask.text(answer.body.decode("utf-8", "backslashreplace"))
    # Sorted while all identifiers are equal, and numbered afterwards.
    value = sort(value, "body", unordered, Mask(""))
    return mask.json(value)


def sort(value: Json, place: str, unordered: tuple[str, ...], equal_ids: Mask) -> Json:
    if isinstance(value, dict):
        return {name: sort(inner, f"{place}/{name}", unordered, equal_ids) for name, inner in value.items()}
    if isinstance(value, list):
        inner = [sort(item, f"{place}/*", unordered, equal_ids) for item in value]
        if any(re.fullmatch(pattern, place) for pattern in unordered):
            inner.sort(key=lambda item: json.dumps(equal_ids.json(item, identifiers=False), sort_keys=True))
        return inner
    return value


def differences(real: MaskedAnswer, ours: MaskedAnswer) -> Iterator[tuple[str, Json, Json]]:
    """(place, real, ours); where the status differs, only the statuses and bodies."""
    if real.status != ours.status:
        yield "status", f"{real.status} {_short(real.body)}", f"{ours.status} {_short(ours.body)}"
        return
    for name in COMPARED_HEADERS:
        if real.headers.get(name) != ours.headers.get(name):
            yield f"header/{name}", real.headers.get(name), ours.headers.get(name)
    yield from _compare(real.body, ours.body, "body")


_ABSENT = "<absent>"


def _compare(real: Json, ours: Json, place: str) -> Iterator[tuple[str, Json, Json]]:
    if isinstance(real, dict) and isinstance(ours, dict):
        for name in sorted(real.keys() | ours.keys()):
            yield from _compare(real.get(name, _ABSENT), ours.get(name, _ABSENT), f"{place}/{name}")
    elif isinstance(real, list) and isinstance(ours, list) and len(real) == len(ours):
        for index, (real_item, our_item) in enumerate(zip(real, ours, strict=True)):
            yield from _compare(real_item, our_item, f"{place}/{index}")
    elif type(real) is not type(ours) or real != ours:
        yield place, real, ours


def _short(body: Json) -> str:
    text = body if isinstance(body, str) else json.dumps(body)
    return text if len(text) <= 300 else f"{text[:300]}…"
