"""``--watch``: the list, then every event about what is in it, until Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from canton.cli.output import Show, as_json, write
from canton.cli.session import Session
from canton.cli.shapes import EVENT
from canton.cli.table import GAP

if TYPE_CHECKING:
    from canton.client.objects import Event

F = TypeVar("F", bound=Callable[..., Any])


def watchable(function: F) -> F:
    """``watch``: whether to go on with events."""
    return click.option("-w", "--watch", is_flag=True, help="Then show events about it as they happen.")(function)


def watch(session: Session, show: Show, listing: Callable[[], None], *kinds: str) -> None:
    """List, then print events whose kind starts with one of these; connected first, so that nothing falls between."""
    with session.client.events.stream() as stream:
        listing()
        for event in stream:
            if event["kind"].startswith(kinds):
                write(line(show, event))


def line(show: Show, event: Event) -> str:
    """One event on one line, in the format that was chosen."""
    if show.format in ("json", "yaml"):
        return as_json(event) + "\n"
    if show.quiet or show.format == "name":
        return f"{EVENT.columns[2].cell(event)}\n"
    columns = [EVENT.column(name) for name in show.columns] if set(show.columns) <= NAMES else EVENT.columns
    chosen = columns or EVENT.columns
    cells = (str(event["at"]) if column.name == "at" else column.cell(event) for column in chosen)
    return GAP.join(cells) + "\n"


NAMES = {column.name for column in EVENT.columns}
