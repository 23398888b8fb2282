"""Sequences of requests, to be played to a real service and to the emulator.

A file ``sequences/<service>_<area>.py`` holds a list ``SEQUENCES``. The tests find it by its name:

    from differential.sequence import Sequence, delete, get, post, wait

    SEQUENCES = [
        Sequence(
            "a reservation is renewed with its key",
            post("smd:/hsm/v2/State/Components", {"Components": [{"ID": "x0c0s0b0n0", "State": "On"}]}),
            post(
                "smd:/hsm/v2/locks/service/reservations",
                {"ComponentIDs": ["x0c0s0b0n0"], "ReservationDuration": 1},
                keep={"key": "body/Success/0/ReservationKey"},
            ),
            post(
                "smd:/hsm/v2/locks/service/reservations/release",
                {"ReservationKeys": [{"ID": "x0c0s0b0n0", "Key": "<key>"}]},
            ),
            get("smd:/hsm/v2/State/Components?type=Node", headers={"X-Odd": "1"}),
            post("smd:/hsm/v2/groups", raw=b"{"),
        ),
    ]

``keep`` gives a name to a value of the reply: ``body/Success/0/Key``, ``header/location``, or, where the order is open,
``body/Success/ID=x0c0s0b0n0/Key``. ``<name>`` stands for it in later paths, headers and bodies, on each side with that
side's own value. ``wait(seconds)`` sleeps there and moves virtual time here. A sequence starts with empty databases;
steps in ``prerequisites=`` come first, and their records stay for the next sequence with the same ones: an inventory
that BSS reads once. A sequence asks any of smd, bss and sls, which must not contact other hosts: addresses in bodies
are loopback ones, and discovery is off. ``python -m differential.survey`` shows all differences of a file or of random
sequences.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Any
NO_BODY = object()


@dataclass(frozen=True, slots=True)
class Step:
    """One request, or a pause where the method is WAIT."""

    method: str
    service: str
    path: str
    """As it goes over the wire: percent-encoded, with the query."""
    body: Json = NO_BODY
    raw: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    keep: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    def payload(self) -> bytes | None:
        """The body as bytes; None when none is sent."""
        if self.raw is not None:
            return self.raw
        return None if self.body is NO_BODY else json.dumps(self.body).encode("utf-8", "surrogatepass")

    def __repr__(self) -> str:
        """The call that makes this step, as in a file of sequences."""
        if self.method == "WAIT":
            return f"wait({self.seconds})"
        parts = [repr(f"{self.service}:{self.path}")]
        if self.body is not NO_BODY:
            parts.append(repr(self.body))
        parts += [
            f"{name}={value!r}"
            for name, value in (("raw", self.raw), ("headers", self.headers), ("keep", self.keep))
            if value or value == b""
        ]
        if self.method in _SHORT:
            return f"{self.method.lower()}({', '.join(parts)})"
        return f"ask({self.method!r}, {', '.join(parts)})"


class Sequence:
    """A name and its steps."""

    def __init__(self, name: str, *steps: Step, prerequisites: tuple[Step, ...] = ()) -> None:
        self.name = name
        self.steps = steps
        self.prerequisites = prerequisites

    def __repr__(self) -> str:
        lines = "".join(f"    {step!r},\n" for step in self.steps)
        prerequisites = "    prerequisites=INVENTORY,\n" if self.prerequisites else ""
        return f"Sequence(\n    {self.name!r},\n{lines}{prerequisites})"


_SHORT = {"GET", "POST", "PUT", "PATCH", "DELETE"}
_NONE: Mapping[str, str] = {}


def ask(
    method: str,
    to: str,
    body: Json = NO_BODY,
    *,
    raw: bytes | None = None,
    headers: Mapping[str, str] = _NONE,
    keep: Mapping[str, str] = _NONE,
) -> Step:
    """``to`` is ``service:/path?query``."""
    service, _, path = to.partition(":")
    return Step(method, service, path, body, raw, dict(headers), dict(keep))


def get(to: str, body: Json = NO_BODY, **more: Any) -> Step:
    return ask("GET", to, body, **more)


def post(to: str, body: Json = NO_BODY, **more: Any) -> Step:
    return ask("POST", to, body, **more)


def put(to: str, body: Json = NO_BODY, **more: Any) -> Step:
    return ask("PUT", to, body, **more)


def patch(to: str, body: Json = NO_BODY, **more: Any) -> Step:
    return ask("PATCH", to, body, **more)


def delete(to: str, body: Json = NO_BODY, **more: Any) -> Step:
    return ask("DELETE", to, body, **more)


def wait(seconds: float) -> Step:
    return Step("WAIT", "", "", seconds=seconds)
