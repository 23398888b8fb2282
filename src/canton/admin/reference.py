"""The pages of ``docs/reference`` that are drawn from code: ``python -m canton.admin.reference docs``.

``PAGES`` names every generated file and the function that gives its text; a new page is one function and one
line there. A test fails when a committed file is not what its function gives.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from canton.admin import manual, openapi
from canton.admin.manual import GENERATED
from canton.admin.settings_reference import settings_page
from canton.domain import errors, invariants
from canton.domain.errors import CantonError
from canton.domain.lifecycle import EVENTS, INITIAL, STATES, TRANSITIONS, NodeEvent, NodeState


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |\n" for line in lines)


def _mark(yes: bool) -> str:
    return "yes" if yes else ""


Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Box:
    """A state's place in the figure, by its centre."""

    x: float
    y: float
    width: float = 112
    height: float = 40

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        return self.y + self.height / 2


@dataclass(frozen=True, slots=True)
class Arrow:
    """A line through points, and where its label starts, ends or is centred."""

    points: tuple[Point, ...]
    label: Point
    anchor: str = "middle"


WIDTH, HEIGHT = 1086, 440
LANE = 116
"""Where arrows that pass over other states run, between the upper two rows."""
LINE = 16
"""From one line of text to the next."""

PLACES: Mapping[NodeState, Box] = {
    NodeState.MAINTENANCE: Box(295, 42),
    NodeState.RETIRED: Box(471, 42),
    NodeState.DISCOVERED: Box(119, 190),
    NodeState.CLEANING: Box(295, 190),
    NodeState.FREE: Box(471, 190),
    NodeState.JOINING: Box(647, 190),
    NodeState.ASSIGNED: Box(823, 190),
    NodeState.LEAVING: Box(999, 190),
    # As wide as the row above it: every state there may fall into it.
    NodeState.QUARANTINED: Box(559, 340, width=992),
}

ELBOWS: Mapping[tuple[NodeState, NodeState], Arrow] = {
    (NodeState.DISCOVERED, NodeState.MAINTENANCE): Arrow(
        ((119, 170), (119, LANE), (263, LANE), (263, 62)), (191, LANE - 7)
    ),
    (NodeState.FREE, NodeState.MAINTENANCE): Arrow(((455, 170), (455, LANE), (327, LANE), (327, 62)), (391, LANE - 7)),
    (NodeState.LEAVING, NodeState.FREE): Arrow(((999, 170), (999, LANE), (487, LANE), (487, 170)), (743, LANE - 7)),
    (NodeState.QUARANTINED, NodeState.MAINTENANCE): Arrow(((63, 340), (30, 340), (30, 42), (239, 42)), (135, 42 - 7)),
}

STYLE = """
  svg { color: #1f2328; font: 14px system-ui, "DejaVu Sans", sans-serif; }
  .page { fill: #ffffff; }
  .state { fill: none; stroke: currentColor; stroke-width: 1.5; }
  .tenant { fill: #3b82f6; fill-opacity: .22; }
  .transient { stroke-dasharray: 6 4; }
  .name { font-weight: 600; }
  .arrow { fill: none; stroke: currentColor; stroke-width: 1.3; marker-end: url(#head); }
  .head { fill: currentColor; }
  text { fill: currentColor; }
  .label { font-size: 13px; }
  @media (prefers-color-scheme: dark) {
    svg { color: #e6edf3; }
    .page { fill: #0d1117; }
  }
"""


def _moves() -> dict[tuple[NodeState, NodeState], list[NodeEvent]]:
    """The events that move a node, by the two states; those that leave it where it is are not drawn."""
    moves: dict[tuple[NodeState, NodeState], list[NodeEvent]] = {}
    for row in TRANSITIONS:
        if row.state != row.next_state:
            moves.setdefault((row.state, row.next_state), []).append(row.event)
    return moves


def _arrow(start: NodeState, end: NodeState, *, paired: bool) -> Arrow:
    """An elbow if one is laid out, else the straight line between two facing sides.

    Of a pair that runs both ways, each keeps to its own side: the one to the right above, the one down left.
    """
    if (start, end) in ELBOWS:
        return ELBOWS[start, end]
    a, b = PLACES[start], PLACES[end]
    if a.y == b.y:
        forward = a.x < b.x
        y = a.y + (0 if not paired else -9 if forward else 9)
        sides = (a.right, b.left) if forward else (a.left, b.right)
        label = y - 7 if forward else y + LINE
        return Arrow(((sides[0], y), (sides[1], y)), (sum(sides) / 2, label))
    narrow = min(a, b, key=lambda box: box.width)
    if not max(a.left, b.left) <= narrow.x <= min(a.right, b.right):
        raise ValueError(f"{start} and {end} do not face each other; lay out their arrow in ELBOWS")
    down = a.y < b.y
    x = narrow.x + (0 if not paired else -24 if down else 24)
    aside = -8 if paired and down else 8
    points = ((x, a.bottom), (x, b.top)) if down else ((x, a.top), (x, b.bottom))
    middle = (points[0][1] + points[1][1]) / 2
    # An arrow between the upper two rows crosses the lane's height, so its label keeps to the lower half.
    y = middle if middle > LANE else middle + 30
    return Arrow(points, (x + aside, y), "end" if aside < 0 else "start")


def _draw_arrow(arrow: Arrow, events: Sequence[NodeEvent]) -> Iterator[str]:
    path = "M" + " L".join(f"{x:g} {y:g}" for x, y in arrow.points)
    yield f'<path class="arrow" d="{path}"/>'
    x, y = arrow.label
    lines = [", ".join(events)] if arrow.anchor == "middle" else list(events)
    if arrow.anchor != "middle":
        y += 4 - LINE * (len(lines) - 1) / 2
    for number, line in enumerate(lines):
        yield f'<text class="label" x="{x:g}" y="{y + number * LINE:g}" text-anchor="{arrow.anchor}">{line}</text>'


def _draw_box(box: Box, name: str, classes: str) -> Iterator[str]:
    yield (
        f'<rect class="{classes}" x="{box.left:g}" y="{box.top:g}" width="{box.width:g}" '
        f'height="{box.height:g}" rx="8"/>'
    )
    yield f'<text class="name" x="{box.x:g}" y="{box.y + 5:g}" text-anchor="middle">{name}</text>'


def _classes(state: NodeState) -> str:
    facts = STATES[state]
    return "state" + " tenant" * facts.tenant + " transient" * facts.transient


def _draw_legend() -> Iterator[str]:
    y = 410
    samples = ((63, "state tenant", "names a tenant"), (225, "state transient", "held by an open operation"))
    for x, classes, text in samples:
        yield f'<rect class="{classes}" x="{x}" y="{y - 12}" width="26" height="16" rx="4"/>'
        yield f'<text class="label" x="{x + 34}" y="{y}">{text}</text>'
    undrawn = "not drawn: events that leave a node where it is"
    yield f'<text class="label" x="1055" y="{y}" text-anchor="end">{undrawn}</text>'


def lifecycle_figure() -> str:
    """The life cycle of a node as an SVG figure, readable on light and dark pages."""
    moves = _moves()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="title">',
        '<title id="title">The life cycle of a node</title>',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        'orient="auto"><path class="head" d="M0 0 L10 5 L0 10 Z"/></marker></defs>',
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
    ]
    for (start, end), events in moves.items():
        parts += _draw_arrow(_arrow(start, end, paired=(end, start) in moves), events)
    for state in NodeState:
        parts += _draw_box(PLACES[state], state, _classes(state))
    return "\n".join([*parts, *_draw_legend(), "</svg>", ""])


def lifecycle_page() -> str:
    """The life cycle in words: states, events, the whole table, and what holds in every state."""
    states = [
        (f"`{state}`", facts.meaning, _mark(facts.tenant), _mark(facts.transient), _mark(facts.sanitises))
        for state, facts in STATES.items()
    ]
    order = sorted(TRANSITIONS, key=lambda row: (_place(row.state), _place(row.event)))
    return f"""{GENERATED}
# The life cycle of a node

![The life cycle of a node](node-lifecycle.svg)

A node begins as `{INITIAL}`. It comes to a tenant only from `{NodeState.FREE}`, and to `{NodeState.FREE}` only by
`{NodeEvent.SANITISED}`: between two tenants it always passes a state that sanitises. `{NodeEvent.ABANDON}` and
`{NodeEvent.DOUBT}` are possible in every state.

## States

{_table(("state", "meaning", "names a tenant", "held by an open operation", "sanitises"), states)}
Only a node that names a tenant may have ports that carry a segment of that tenant.

## Events

{_table(("event", "what it states"), [(f"`{event}`", text) for event, text in EVENTS.items()])}
## Transitions

{
        _table(
            ("in state", "event", "leads to", "why"),
            [(f"`{row.state}`", f"`{row.event}`", f"`{row.next_state}`", row.why) for row in order],
        )
    }
An event that is not listed for a state is refused with `invalid-transition`.

## What holds in every state

{
        _table(
            ("rule", "why"),
            [(f"`{invariants.name_of(rule)}`", inspect.getdoc(rule) or "") for rule in invariants.INVARIANTS],
        )
    }"""


def _place(member: NodeState | NodeEvent) -> int:
    return list(type(member)).index(member)


def _error_classes(root: type[CantonError] = CantonError) -> Iterator[type[CantonError]]:
    """Every class below the root, each branch before its leaves."""
    for cls in vars(errors).values():
        if isinstance(cls, type) and issubclass(cls, CantonError) and cls.__base__ is root:
            yield cls
            yield from _error_classes(cls)


def errors_page() -> str:
    """Every error code with what a caller sees of it and may do about it."""
    rows = [
        (f"`{cls.code}`", str(cls.status), str(cls.exit_code), cls.remedy, inspect.getdoc(cls) or "")
        for cls in _error_classes()
    ]
    return f"""{GENERATED}
# Errors

Every error has a stable code. The API answers with the HTTP status and names the code; the command line ends
with the exit code. A code that is the general case of those after it is used when none of them fits.

The remedy says what helps: `temporary`, try the same again later; `permanent`, change the request;
`human`, a person has to look.

{_table(("code", "HTTP status", "exit code", "remedy", "meaning"), rows)}"""


PAGES: Mapping[str, Callable[[], str]] = {
    "reference/errors.md": errors_page,
    "reference/node-lifecycle.md": lifecycle_page,
    "reference/node-lifecycle.svg": lifecycle_figure,
    "reference/openapi.json": openapi.document,
    "reference/settings.md": settings_page,
    **manual.PAGES,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Write every page below the folder given, and say which changed."""
    parser = argparse.ArgumentParser(prog="python -m canton.admin.reference", description=main.__doc__)
    parser.add_argument("docs", type=Path, help="the folder of the documentation")
    docs: Path = parser.parse_args(argv).docs
    # The examples show failures on purpose; what the server logs of them is no news here.
    logging.getLogger("canton").addHandler(logging.NullHandler())
    for name, page in PAGES.items():
        path, text = docs / name, page()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"wrote {path}\n")


if __name__ == "__main__":
    main()
