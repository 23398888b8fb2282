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
PAUSE = 0.5
"""Seconds between two lists at least, however much happens."""
CLEAR = "\x1b[H\x1b[2J"


def watchable(function: F) -> F:
    """``watch``: whether to go on with what changes."""
    text = "Then show the rows that change, as they change; on a terminal the whole table."
    return click.option("-w", "--watch", is_flag=True, help=text)(function)


def watch(session: Session, show: Show, fetch: Callable[[], Sequence[Item]], draw: Draw, *kinds: str) -> None:
    """Draw the list, and what of it changed whenever an event of one of these kinds comes.

    The stream is connected first, so that nothing falls between. Events that come together cause one list.
    """
    from queue import SimpleQueue  # noqa: PLC0415 (only those who watch pay)
    from threading import Thread  # noqa: PLC0415

    with session.client.events.stream() as stream:
        news: SimpleQueue[Exception | None] = SimpleQueue()
        before = fetch()
        _redraw(show, draw, before, before)
        Thread(target=_listen, args=(stream, kinds, news), daemon=True).start()
        while True:
            _wait(news)
            items = fetch()
            changed = [item for item in items if item not in before]
            if changed or len(items) < len(before):
                _redraw(show._replace(headers=sys.stdout.isatty()), draw, items, changed)
            before = items
            time.sleep(PAUSE)


def _listen(stream: Stream, kinds: tuple[str, ...], news: SimpleQueue[Exception | None]) -> None:
    try:
        for event in stream:
            if event["kind"].startswith(kinds):
                news.put(None)
    except Exception as error:  # noqa: BLE001 (it is raised again where the command runs)
        news.put(error)


def _wait(news: SimpleQueue[Exception | None]) -> None:
    """Until there is something new; all that is there already counts once. Raises what ended the stream."""
    failure = news.get()
    if failure is not None:
        raise failure
    while not news.empty():
        failure = news.get()
        if failure is not None:
            news.put(failure)
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
