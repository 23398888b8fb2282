"""``--watch``: the list, and again whenever something in it changes, until Ctrl-C."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from canton.cli.output.columns import EVENT
from canton.cli.output.formats import Item, Show, as_json, write
from canton.cli.output.table import GAP, to_the_second
from canton.cli.session.session import Session

if TYPE_CHECKING:
    from queue import SimpleQueue

    from canton.client.events import Stream
    from canton.client.objects import Event

F = TypeVar("F", bound=Callable[..., Any])
Draw: TypeAlias = Callable[[Show, Iterable[Item]], None]
MIN_INTERVAL = 0.5
"""The minimum of seconds between two lists, however many events come."""
CLEAR = "\x1b[H\x1b[2J"


def watch_option(function: F) -> F:
    """Adds ``--watch``."""
    text = "Keep running and show rows again when they change; on a terminal the whole table."
    return click.option("-w", "--watch", is_flag=True, help=text)(function)


def watch(session: Session, show: Show, fetch: Callable[[], Sequence[Item]], draw: Draw, *kinds: str) -> None:
    """Print the list, and again what changed in it whenever an event of one of these kinds comes.

    The stream is connected before the first list, so that no change is missed. Events that come together cause one
    new list.
    """
    from queue import SimpleQueue  # noqa: PLC0415 (only those who watch pay)
    from threading import Thread  # noqa: PLC0415

    with session.client.events.stream() as stream:
        updates: SimpleQueue[Exception | None] = SimpleQueue()
        previous = fetch()
        _redraw(show, draw, previous, previous)
        Thread(target=_listen, args=(stream, kinds, updates), daemon=True).start()
        while True:
            _wait(updates)
            items = fetch()
            changed = [item for item in items if item not in previous]
            if changed or len(items) < len(previous):
                _redraw(show._replace(headers=sys.stdout.isatty()), draw, items, changed)
            previous = items
            time.sleep(MIN_INTERVAL)


def _listen(stream: Stream, kinds: tuple[str, ...], updates: SimpleQueue[Exception | None]) -> None:
    try:
        for event in stream:
            if event["kind"].startswith(kinds):
                updates.put(None)
    except Exception as error:  # noqa: BLE001 (it is raised again where the command runs)
        updates.put(error)


def _wait(updates: SimpleQueue[Exception | None]) -> None:
    """Wait for an event; events that are already queued count as one. Raises the error that ended the stream."""
    failure = updates.get()
    if failure is not None:
        raise failure
    while not updates.empty():
        failure = updates.get()
        if failure is not None:
            updates.put(failure)
            return


def _redraw(show: Show, draw: Draw, items: Sequence[Item], changed: Sequence[Item]) -> None:
    if show.format in ("json", "yaml"):
        write("".join(f"{as_json(item)}\n" for item in changed))
    elif sys.stdout.isatty():
        write(CLEAR)
        draw(show, items)
    elif changed:
        draw(show, changed)


def line(show: Show, event: Event) -> str:
    """One event on one line, in the format that was chosen."""
    if show.format in ("json", "yaml"):
        return as_json(event) + "\n"
    if show.quiet or show.format == "name":
        return f"{EVENT.columns[2].cell(event)}\n"
    columns = [EVENT.column(name) for name in show.columns] or EVENT.columns
    cells = (to_the_second(event["at"]) if column.name == "at" else column.cell(event) for column in columns)
    return GAP.join(cells) + "\n"
