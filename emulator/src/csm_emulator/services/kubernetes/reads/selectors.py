"""Label selectors and field selectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from csm_emulator.records import Json
from csm_emulator.services.kubernetes.kinds.kinds import Kind
from csm_emulator.services.kubernetes.statuses import bad_request

Predicate = Callable[[Json], bool]

_KEY = r"(?:[A-Za-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?"
_PIECE = re.compile(r"(?:[^,(]+|\([^)]*\)?)+")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_EQUAL = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_FIELD = re.compile(r"\s*([A-Za-z0-9.\[\]_/-]+)\s*(==|=|!=)\s*(.*?)\s*")
_COMMON_FIELDS = ("metadata.name", "metadata.namespace")
_FIELDS_BY_STORAGE_KEY: Mapping[str, tuple[str, ...]] = {
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


def selector(kind: Kind, labels: str, fields: str) -> Predicate:
    """A predicate for objects that match both selectors; raises ``StatusError`` for an invalid selector."""
    tests = [*_label_tests(labels), *_field_tests(kind, fields)]
    return lambda value: all(test(value) for test in tests)


def _pieces(text: str) -> list[str]:
    """Split at commas outside of parentheses."""
    return [stripped for stripped in (piece.strip() for piece in _PIECE.findall(text)) if stripped]


def _label_tests(text: str) -> list[Predicate]:
    return [_label_test(piece, text) for piece in _pieces(text)]


def _label_test(piece: str, selector_text: str) -> Predicate:
    if match := _SET.fullmatch(piece):
        key, operator, set_text = match.groups()
        values = {value.strip() for value in set_text.split(",")}
        return lambda item: (_labels(item).get(key) in values) == (operator == "in")
    if match := _EQUAL.fullmatch(piece):
        key, operator, value = match.groups()
        return lambda item: (_labels(item).get(key) == value) == (operator != "!=")
    if match := _EXISTS.fullmatch(piece):
        absent, key = match.groups()
        return lambda item: (key in _labels(item)) != bool(absent)
    raise bad_request(f"unable to parse requirement: found '{piece}', expected: a selector in {selector_text!r}")


def _labels(value: Json) -> Mapping[str, str]:
    return value["metadata"].get("labels") or {}


def _field_tests(kind: Kind, text: str) -> list[Predicate]:
    return [_field_test(kind, piece) for piece in text.split(",") if piece.strip()]


def _field_test(kind: Kind, piece: str) -> Predicate:
    match = _FIELD.fullmatch(piece)
    if match is None:
        raise bad_request(f"invalid selector: '{piece}'; can't understand '{piece}'")
    path, operator, value = match.groups()
    if path not in (*_COMMON_FIELDS, *_FIELDS_BY_STORAGE_KEY.get(kind.storage_key, ())):
        raise bad_request(f"field label not supported: {path}")
    return lambda item: (_field(item, path) == value) == (operator != "!=")


def _field(current: Json, path: str) -> str:
    value = current
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
