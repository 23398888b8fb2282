"""Files of nodes to import: CSV or JSON, every wrong row named with its line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

from canton.cli.output.formats import nearest
from canton.client.errors import Problem
from canton.client.objects import NewNode
from canton.domain.errors import InvalidRequest

COLUMNS = ("xname", "nid", "state", "tenant")
MAX_REPEATED_MISTAKES = 3
"""If more mistakes than this differ only in the name of the node, one line stands for all of them."""
POWER_REFUSED = "power is read from the site by workers, so a file cannot set it; leave it out"


class Rows(NamedTuple):
    """The nodes of a file, and the place of each in it."""

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
    return _from_csv(text, file, _chosen_site(site, None, file))


@contextmanager
def explain(rows: Rows) -> Iterator[None]:
    """Rewrite the server's problem so that it names lines of the file; its own message numbers rows, not lines."""
    try:
        yield
    except Problem as problem:
        wrong_rows = problem.details.get("rows")
        if isinstance(wrong_rows, list | tuple) and wrong_rows:
            shown_count = len({row.get("row") for row in wrong_rows})
            reported_count: Any = problem.details.get("count")
            count = reported_count if isinstance(reported_count, int) else shown_count
            problem.message = f"nothing was imported: {count} {'row is' if count == 1 else 'rows are'} wrong"
            problem.message += "".join(f"\n  {line}" for line in _mistakes_in(rows, wrong_rows))
            problem.message += f"\n  and {count - shown_count} more rows" if count > shown_count else ""
        raise


def _mistakes_in(rows: Rows, wrong: Sequence[Any]) -> Iterator[str]:
    """A line for each mistake. Mistakes that differ only in the node's name share a line if they are many."""
    shared: dict[str, dict[str, list[str]]] = {}
    for row in wrong:
        what, number = str(row.get("what")), row.get("row")
        xname = _xname(rows, number)
        alike = what.replace(xname, "the node", 1) if xname else what
        shared.setdefault(alike, {}).setdefault(what, []).append(_place(rows, number))
    for alike, mistakes in shared.items():
        places = [place for of_one in mistakes.values() for place in of_one]
        if len(mistakes) > MAX_REPEATED_MISTAKES:
            mistakes = {alike: places}  # noqa: PLW2901 (said once instead)
        for mistake, of_one in mistakes.items():
            yield f"{rows.file}, {_folded(of_one)}: {mistake}"


def _folded(places: Sequence[str]) -> str:
    """``lines 2-101, 103``."""
    if len(places) == 1:
        return places[0]
    word, numbers = places[0].partition(" ")[0], [int(place.rpartition(" ")[2]) for place in places]
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = runs[-1][0], number
        else:
            runs.append((number, number))
    return f"{word}s " + ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _xname(rows: Rows, number: Any) -> str:
    """The row's xname as the server writes it; empty if it has none."""
    in_range = isinstance(number, int) and 1 <= number <= len(rows.nodes)
    node: Any = rows.nodes[number - 1] if in_range else {}
    return str(node.get("xname") or "").strip().lower() if isinstance(node, dict) else ""


def _place(rows: Rows, number: Any) -> str:
    in_range = isinstance(number, int) and 1 <= number <= len(rows.places)
    return rows.places[number - 1] if in_range else f"row {number}"


def _chosen_site(option: str | None, in_file: object, file: str) -> str:
    if in_file is not None and (not isinstance(in_file, str) or (option and option != in_file)):
        raise InvalidRequest(f"{file} names the site {in_file}, and --site names {option}; correct one of them")
    site = option or in_file
    if not site:
        raise InvalidRequest("no site is named; give the site of the nodes with --site")
    return str(site)


def _from_json(text: str, file: str, site: str | None) -> Rows:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"{file} is not JSON: {error}") from error
    in_file = None
    if isinstance(document, dict):
        unknown = sorted(document.keys() - {"site", "nodes"})
        if unknown:
            raise InvalidRequest(f'{file}: unknown key "{unknown[0]}"{nearest(unknown[0], ("site", "nodes"))}')
        in_file, document = document.get("site"), document.get("nodes")
    if not isinstance(document, list):
        raise InvalidRequest(f'{file}: write a list of nodes, or an object with "site" and "nodes"')
    places = [f"node {number}" for number in range(1, len(document) + 1)]
    wrong = [f"{place}: {what}" for place, row in zip(places, document, strict=True) for what in _mistakes(row)]
    _refuse(file, wrong)
    return Rows(file, _chosen_site(site, in_file, file), cast("list[NewNode]", document), places)


def _mistakes(row: object) -> Iterator[str]:
    if not isinstance(row, dict):
        yield f"{json.dumps(row)[:60]} is not an object"
        return
    if not isinstance(row.get("xname"), str):
        yield "no xname"
    for key in row:
        if key == "power":
            yield POWER_REFUSED
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
    if not set(head) & set(COLUMNS) and not any(nearest(name, COLUMNS) for name in head):
        yield f"the first line must name the columns: {','.join(COLUMNS)}"
        return
    for name in head:
        if name == "power":
            yield POWER_REFUSED
        elif name not in COLUMNS:
            hint = nearest(name, COLUMNS, f"write {','.join(COLUMNS)}")
            yield f'unknown column "{name}"{hint}'
    if "xname" not in head:
        yield "no column xname"
    if len(set(head)) != len(head):
        yield "a column is named twice"


def _node(head: Sequence[str], cells: Sequence[str]) -> NewNode:
    if len(cells) != len(head):
        many = "" if len(cells) == 1 else "s"
        raise ValueError(f"{len(cells)} cell{many}, where the first line names {len(head)} columns")
    row: dict[str, Any] = {name: cell for name, cell in zip(head, cells, strict=True) if cell}
    # The server refuses a nid that is not a number and a row without an xname, together with its other findings.
    if row.get("nid", "").isascii() and row.get("nid", "").isdigit():
        row["nid"] = int(row["nid"])
    return cast("NewNode", row)


def _refuse(file: str, wrong: Sequence[str]) -> None:
    if wrong:
        raise InvalidRequest(f"{file}: nothing was imported\n" + "\n".join(f"  {what}" for what in wrong))
