"""How a noun is shown: ``-o table|wide|json|yaml|name|csv``, columns, headers, ids only.

JSON and YAML are the API's body. Tables, names and CSV come from the noun's columns, whose names are stable.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from canton.cli.output import table
from canton.cli.output.terminal import coloured, say
from canton.domain.errors import InvalidRequest
from canton.domain.terminal_text import harmless, is_harmless, json_escaped

FORMATS = ("table", "wide", "json", "yaml", "name", "csv")
Item = Mapping[str, object]
DEFAULT_WIDTH = 100


class CellText(Protocol):
    """The text of a value in a table, where it differs from the value itself."""

    def __call__(self, value: object, /) -> str: ...


class Column(NamedTuple):
    """A column: its name, the key it shows (``steps.done`` reaches inside), whether it is an instant or only wide.

    A ``long`` one is cut to fit where a table would be wider than a terminal; every other format has all of it.
    """

    name: str
    key: str
    instant: bool = False
    wide: bool = False
    long: bool = False
    as_text: CellText = table.cell

    def value(self, item: Item) -> object:
        value: object = item
        for key in self.key.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def cell(self, item: Item) -> str:
        return table.ago(self.value(item)) if self.instant else self.as_text(self.value(item))

    def plain(self, item: Item) -> str:
        """The value for CSV, not shortened; empty for None."""
        value = self.value(item)
        return value if isinstance(value, str) else "" if value is None else table.cell(value)


class Shape(NamedTuple):
    """How a noun is printed: its name, the key that identifies one, and its columns."""

    noun: str
    id: str
    columns: Sequence[Column]

    def column(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        column_names = [column.name for column in self.columns]
        hint = nearest(name, column_names, f"it has: {', '.join(column_names)}")
        raise InvalidRequest(f'{self.noun} has no column "{name}"{hint}')


class Show(NamedTuple):
    """The output options of one command, and the printing that follows them."""

    format: str = "table"
    columns: Sequence[str] = ()
    headers: bool = True
    quiet: bool = False

    @property
    def for_people(self) -> bool:
        """Whether a full table is printed, to which a remark on standard error may be added."""
        return self.format in ("table", "wide") and not self.quiet and not self.columns

    def chosen(self, shape: Shape) -> list[Column]:
        if self.columns:
            return [shape.column(name) for name in self.columns]
        return [column for column in shape.columns if self.format in ("wide", "csv") or not column.wide]

    def listing(self, shape: Shape, items: Iterable[Item]) -> None:
        """Print a list to standard output."""
        if self.quiet or self.format == "name":
            write("".join(f"{_name(shape, item, bare=self.quiet)}\n" for item in items))
        elif self.format in ("json", "yaml"):
            self.body({"items": list(items), "next": None})
        elif self.format == "csv":
            write(as_csv(self.chosen(shape), items, headers=self.headers))
        else:
            columns = self.chosen(shape)
            long = [column.name for column in columns if column.long]
            self.rows([column.name for column in columns], [[c.cell(item) for c in columns] for item in items], long)

    def one(self, shape: Shape, item: Item) -> None:
        """Print one object to standard output: as a table, one line per column."""
        if self.format in ("json", "yaml") and not self.quiet:
            self.body(item)
        elif self.quiet or self.format in ("name", "csv"):
            self.listing(shape, [item])
        else:
            columns = [shape.column(name) for name in self.columns] or shape.columns
            lines = [line for column in columns for line in _lines(column, item)]
            write(table.draw(None, lines, colour=coloured(sys.stdout)))

    def rows(self, head: Sequence[str], rows: Sequence[Sequence[str]], long: Sequence[str] = ()) -> None:
        """Print a table, if it has rows; in the default format its long columns are cut to fit the width."""
        if not rows:
            say("canton: nothing to list")
        if self.format == "table" and not self.columns:
            rows = table.fit(head, rows, [n for n, name in enumerate(head) if name in long], available_width())
        titles = [name.upper() for name in head] if self.headers and rows else None
        write(table.draw(titles, rows, colour=coloured(sys.stdout)))

    def body(self, value: object) -> None:
        """Print the API's body as JSON or YAML."""
        write(as_yaml(value) if self.format == "yaml" else as_json(value, indent=2) + "\n")


def available_width() -> int:
    """The width of a table in characters: that of the terminal, or 100 where there is none."""
    if not sys.stdout.isatty():
        return DEFAULT_WIDTH
    import shutil  # noqa: PLC0415 (only a terminal has a width)

    return shutil.get_terminal_size().columns


def _lines(column: Column, item: Item) -> list[tuple[str, str]]:
    """The column and its value; a list has a line for each of its values."""
    value = column.value(item)
    values = (
        [table.cell(item_value) for item_value in value]
        if isinstance(value, list) and value
        else [_full(column, value)]
    )
    return [(f"{column.name}:" if n == 0 else "", text) for n, text in enumerate(values)]


def _full(column: Column, value: object) -> str:
    """An instant both absolute and relative; any other value as in a table."""
    return f"{table.to_the_second(value)} ({table.ago(value)})" if column.instant and value else column.as_text(value)


def _name(shape: Shape, item: Item, *, bare: bool) -> str:
    text = harmless(str(item.get(shape.id, "")))
    return text if bare else f"{shape.noun}/{text}"


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def as_json(value: object, indent: int | None = None) -> str:
    """JSON with letters beyond ASCII unescaped, without characters that could control a terminal."""
    import json  # noqa: PLC0415 (a table needs none of it)

    return json_escaped(json.dumps(value, ensure_ascii=False, indent=indent))


def as_yaml(value: object) -> str:
    """YAML without characters that could control a terminal: if there are any, all non-ASCII is escaped."""
    import yaml  # noqa: PLC0415 (20 ms that only those pay who want YAML)

    text = str(yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=120))
    return text if is_harmless(text) else str(yaml.safe_dump(value, sort_keys=False, width=120))


def as_csv(columns: Sequence[Column], items: Iterable[Item], *, headers: bool) -> str:
    """CSV (RFC 4180), with lines ended by a line feed."""
    lines = [[column.name for column in columns]] if headers else []
    lines += [[column.plain(item) for column in columns] for item in items]
    # An empty line would not count as a row.
    text = "".join((",".join(map(_quoted, line)) or '""') + "\n" for line in lines)
    return harmless(text) if sys.stdout.isatty() else text


def _quoted(text: str) -> str:
    if not any(mark in text for mark in ',"\r\n'):
        return text
    return '"' + text.replace('"', '""') + '"'


def nearest(word: str, candidates: Iterable[str], more: str = "") -> str:
    """``; did you mean "state"?`` if a candidate is similar; then ``more``, as a sentence or as part of this one."""
    from difflib import get_close_matches  # noqa: PLC0415 (only mistakes pay)

    matches = get_close_matches(word, list(candidates), n=1)
    if not matches:
        return f"; {more}" if more else ""
    return f'; did you mean "{matches[0]}"?' + (f" {more[0].upper()}{more[1:]}" if more else "")
