"""Files of nodes to import: CSV or JSON, every wrong row named with its line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from canton.cli.output import nearest
from canton.client.errors import Problem
from canton.client.objects import NewNode
from canton.domain.errors import InvalidRequest

COLUMNS = ("xname", "nid", "state", "tenant")
NAMED_PLACES = 3
"""Of a mistake that more rows share, the first is named and the others are counted."""
POWER = "power is read from the site by workers, so a file cannot say it; leave it out"


class Rows(NamedTuple):
    """What a file says, and where it says it."""

    file: str
    site: str
    nodes: Sequence[NewNode]
    places: Sequence[str]
    """``line 4`` of a CSV file, ``node 3`` of a JSON file."""


def read(content: bytes, file: str, site: str | None) -> Rows:
    """The nodes of a file; InvalidRequest names everything that is wrong with it."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file} is not UTF-8 text: byte {error.start} is wrong") from error
    if text.lstrip().startswith(("[", "{")):
        return _from_json(text, file, site)
    return _from_csv(text, file, _sited(site, None, file))


@contextmanager
def explain(rows: Rows) -> Iterator[None]:
    """Turn the row numbers of the server's problem into lines of the file."""
    try:
        yield
    except Problem as problem:
        wrong = problem.details.get("rows")
        if isinstance(wrong, list | tuple) and wrong:
            problem.message += "".join(f"\n  {line}" for line in _mistakes_in(rows, wrong))
            count: Any = problem.details.get("count", 0)
            more = count - len({row.get("row") for row in wrong})
            problem.message += f"\n  and {more} more rows" if more > 0 else ""
        raise


def _mistakes_in(rows: Rows, wrong: Sequence[Any]) -> Iterator[str]:
    """A line for each mistake; one that many rows share is named once, with how many they are."""
    by_mistake: dict[str, list[str]] = {}
    for row in wrong:
        by_mistake.setdefault(str(row.get("what")), []).append(_place(rows, row.get("row")))
    for mistake, places in by_mistake.items():
        more = f" and {len(places) - 1} more rows" if len(places) > NAMED_PLACES else ""
        yield f"{rows.file}, {', '.join(places[:1] if more else places)}{more}: {mistake}"


def _place(rows: Rows, number: Any) -> str:
    known = isinstance(number, int) and 1 <= number <= len(rows.places)
    return rows.places[number - 1] if known else str(number)


def _sited(option: str | None, in_file: object, file: str) -> str:
    if in_file is not None and (not isinstance(in_file, str) or (option and option != in_file)):
        raise InvalidRequest(f"{file} is for the site {in_file}, and --site says {option}; which one?")
    found = option or in_file
    if not found:
        raise InvalidRequest("at which site do the nodes stand? Give --site")
    return str(found)


def _from_json(text: str, file: str, site: str | None) -> Rows:
    try:
        told = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"{file} is not JSON: {error}") from error
    in_file = None
    if isinstance(told, dict):
        unknown = sorted(told.keys() - {"site", "nodes"})
        if unknown:
            raise InvalidRequest(f'{file}: unknown key "{unknown[0]}"{nearest(unknown[0], ("site", "nodes"))}')
        in_file, told = told.get("site"), told.get("nodes")
    if not isinstance(told, list):
        raise InvalidRequest(f'{file}: write a list of nodes, or an object with "site" and "nodes"')
    places = [f"node {number}" for number in range(1, len(told) + 1)]
    wrong = [f"{place}: {what}" for place, row in zip(places, told, strict=True) for what in _mistakes(row)]
    _refuse(file, wrong)
    return Rows(file, _sited(site, in_file, file), cast("list[NewNode]", told), places)


def _mistakes(row: object) -> Iterator[str]:
    if not isinstance(row, dict):
        yield f"{json.dumps(row)[:60]} is not an object"
        return
    if not isinstance(row.get("xname"), str):
        yield "no xname"
    for key in row:
        if key == "power":
            yield POWER
        elif key not in COLUMNS:
            yield f'unknown key "{key}"{nearest(key, COLUMNS)}'


def _from_csv(text: str, file: str, site: str) -> Rows:
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    nodes: list[NewNode] = []
    places: list[str] = []
    wrong: list[str] = []
    try:
        head = [name.strip() for name in next(reader, [])]
        _refuse(file, [f"line 1: {what}" for what in _wrong_head(head)])
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            place = f"line {reader.line_num}"
            places.append(place)
            try:
                nodes.append(_node(head, [cell.strip() for cell in cells]))
            except ValueError as error:
                wrong.append(f"{place}: {error}")
    except csv.Error as error:
        wrong.append(f"line {reader.line_num}: {error}")
    _refuse(file, wrong)
    return Rows(file, site, nodes, places)


def _wrong_head(head: Sequence[str]) -> Iterator[str]:
    for name in head:
        if name == "power":
            yield POWER
        elif name not in COLUMNS:
            hint = nearest(name, COLUMNS, f"write {','.join(COLUMNS)}")
            yield f'unknown column "{name}"{hint}'
    if "xname" not in head:
        yield "no column xname"
    if len(set(head)) != len(head):
        yield "a column is named twice"


def _node(head: Sequence[str], cells: Sequence[str]) -> NewNode:
    if len(cells) != len(head):
        raise ValueError(f"{len(cells)} cells, where the first line names {len(head)} columns")
    row: dict[str, Any] = {name: cell for name, cell in zip(head, cells, strict=True) if cell}
    if "xname" not in row:
        raise ValueError("no xname")
    if "nid" in row:
        if not (row["nid"].isascii() and row["nid"].isdigit()):
            raise ValueError(f'nid "{row["nid"]}" is not a number')
        row["nid"] = int(row["nid"])
    return cast("NewNode", row)


def _refuse(file: str, wrong: Sequence[str]) -> None:
    if wrong:
        raise InvalidRequest(f"{file}: nothing was imported\n" + "\n".join(f"  {what}" for what in wrong))
