"""Label selectors and field selectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from csm_emulator.services.kubernetes.kinds.kinds import Json, Kind
from csm_emulator.services.kubernetes.statuses import bad_request

Test = Callable[[Json], bool]

_KEY = r"(?:[A-Za-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?"
_PIECE = re.compile(r"(?:[^,(]+|\([^)]*\)?)+")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_THERE = re.compile(rf"(!?)\s*({_KEY})")
_FIELD = re.compile(r"\s*([A-Za-z0-9.\[\]_/-]+)\s*(==|=|!=)\s*(.*?)\s*")
_ANYWHERE = ("metadata.name", "metadata.namespace")
_MORE: Mapping[str, tuple[str, ...]] = {
    "/pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    "/nodes": ("spec.unschedulable",),
    "/secrets": ("type",),
    "/namespaces": ("status.phase",),
    "batch/jobs": ("status.successful",),
    "/events": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
}


def selector(kind: Kind, labels: str, fields: str) -> Test:
    """Whether an object is meant; raises ``Refused`` for a selector that cannot be read."""
    tests = [*_label_tests(labels), *_field_tests(kind, fields)]
    return lambda found: all(test(found) for test in tests)


def _pieces(text: str) -> list[str]:
    """Split at commas that stand outside of parentheses."""
    return [found for found in (piece.strip() for piece in _PIECE.findall(text)) if found]


def _label_tests(text: str) -> list[Test]:
    return [_label_test(piece, text) for piece in _pieces(text)]


def _label_test(piece: str, whole: str) -> Test:
    if found := _SET.fullmatch(piece):
        key, operator, listed = found.groups()
        values = {value.strip() for value in listed.split(",")}
        return lambda each: (_labels(each).get(key) in values) == (operator == "in")
    if found := _EQUAL.fullmatch(piece):
        key, operator, value = found.groups()
        return lambda each: (_labels(each).get(key) == value) == (operator != "!=")
    if found := _THERE.fullmatch(piece):
        absent, key = found.groups()
        return lambda each: (key in _labels(each)) != bool(absent)
    raise bad_request(f"unable to parse requirement: found '{piece}', expected: a selector in {whole!r}")


def _labels(found: Json) -> Mapping[str, str]:
    return found["metadata"].get("labels") or {}


def _field_tests(kind: Kind, text: str) -> list[Test]:
    return [_field_test(kind, piece) for piece in text.split(",") if piece.strip()]


def _field_test(kind: Kind, piece: str) -> Test:
    found = _FIELD.fullmatch(piece)
    if found is None:
        raise bad_request(f"invalid selector: '{piece}'; can't understand '{piece}'")
    path, operator, value = found.groups()
    if path not in (*_ANYWHERE, *_MORE.get(kind.place, ())):
        raise bad_request(f"field label not supported: {path}")
    return lambda each: (_field(each, path) == value) == (operator != "!=")


def _field(found: Json, path: str) -> str:
    value = found
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
