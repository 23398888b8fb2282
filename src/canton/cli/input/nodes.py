"""Sets of nodes on the command line: hostlists, ``@tenant``, ``-`` for standard input, ``--selector``; folded rows."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import click

from canton.cli.input.options import complete_names
from canton.cli.output.columns import NODE
from canton.cli.output.formats import Column, Item, Shape, Show, nearest
from canton.cli.output.table import ago, cell
from canton.cli.session.session import Session
from canton.domain.errors import InvalidRequest, UnknownGroup, UnknownNodes

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from canton.domain.nodeset.nodeset import NodeSet

F = TypeVar("F", bound=Callable[..., Any])

KEYS = ("site", "tenant", "state", "power")
FOLDED = Shape("node", "xname", (*NODE.columns, Column("nodes", "nodes"), Column("count", "count")))
"""The columns of a node, and the two that only a row for several nodes has."""
DEFAULT_COLUMNS = ("count", "site", "state", "tenant", "power", "nodes")

nodesets_argument = click.argument("nodesets", metavar="[NODESET]...", nargs=-1, shell_complete=complete_names("nodes"))


def selector_option(function: F) -> F:
    """Adds ``--selector``: nodes by site, tenant, state or power."""
    return click.option(
        "--selector",
        metavar="KEY=VALUE,...",
        callback=_selector,
        shell_complete=_complete_selector,
        help=f"Filter nodes by {', '.join(KEYS)}; tenant=- for nodes without a tenant.",
    )(function)


def _complete_selector(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from canton.cli.commands.completion import selectors  # noqa: PLC0415 (only a shell that completes pays)

    return selectors(ctx, incomplete)


def _selector(_ctx: click.Context, _param: click.Parameter, value: str | None) -> dict[str, str]:
    filters: dict[str, str] = {}
    for pair in filter(None, (value or "").split(",")):
        key, equals, filter_value = pair.strip().partition("=")
        if key not in KEYS:
            hint = nearest(key, KEYS, f"use {', '.join(KEYS)}")
            raise click.BadParameter(f'there is no filter "{key}" for nodes{hint}')
        if not equals or not filter_value:
            raise click.BadParameter(f"write {key}=VALUE")
        filters[key] = filter_value
    return filters


def named_nodes(session: Session, texts: Sequence[str]) -> str | None:
    """The nodes that the texts name, folded; None without texts. Groups are looked up by listing a tenant's nodes."""
    if not texts:
        return None
    nodes: NodeSet | None = None
    for text in with_standard_input(texts):
        more = _parse(session, text)
        nodes = more if nodes is None else nodes | more
    if not nodes:
        raise InvalidRequest("the nodesets name no nodes")
    return str(nodes)


def selected_nodes(session: Session, texts: Sequence[str], selector: dict[str, str]) -> str:
    """The nodes to act on, by name and selector, folded. Raises if there is neither, or if no node matches."""
    nodeset = named_nodes(session, texts)
    if not selector:
        if nodeset is None:
            raise InvalidRequest(
                "no nodes are named; name them ('x1000c0s0b0n[0-3]', @psi, -) or give --selector state=free"
            )
        return nodeset
    from canton.domain.nodeset.nodeset import fold  # noqa: PLC0415

    folded = fold(str(node["xname"]) for node in _matching(session, nodeset, selector))
    if not folded:
        raise UnknownNodes("no node that you can see matches; look with: canton node list --selector …")
    return folded


def matching_nodes(
    session: Session, texts: Sequence[str], selector: dict[str, str], limit: int | None
) -> Iterable[Item]:
    """The nodes to show."""
    return _matching(session, named_nodes(session, texts), selector, limit)


def missing_nodes(texts: Sequence[str], items: Iterable[Item]) -> str:
    """The nodes that the texts name and that are not among the items, folded; empty if there are none."""
    from canton.domain.nodeset.nodeset import fold, parse  # noqa: PLC0415

    numbers = {item.get("nid") for item in items}
    xnames = {item["xname"] for item in items}
    names = [name for text in texts for name in parse(text, lambda _group: [])]
    return fold(name for name in names if name not in xnames and _number(name) not in numbers)


def _number(name: str) -> int | None:
    from canton.domain.nid import parse_nid  # noqa: PLC0415

    return parse_nid(name) if name[3:].isdecimal() and name[:3].lower() == "nid" else None


def _matching(
    session: Session, nodeset: str | None, selector: dict[str, str], limit: int | None = None
) -> Iterable[Item]:
    filters = {key: value for key, value in selector.items() if key != "tenant"}
    return session.client.nodes.list(nodeset=nodeset, tenant=selector.get("tenant"), limit=limit, **filters)


def with_standard_input(texts: Sequence[str]) -> list[str]:
    """The texts, with the content of standard input in the place of ``-``; it can be read once."""
    return [sys.stdin.read() if text == "-" else text for text in texts]


def _parse(session: Session, text: str) -> NodeSet:
    from canton.domain.nodeset.nodeset import parse  # noqa: PLC0415 (5 ms that a plain list does not need)

    def resolve(group: str) -> list[str]:
        tenant, _, site = group.partition("/")
        xnames = [node["xname"] for node in session.client.nodes.list(tenant=tenant, site=site or None)]
        if not xnames:
            raise UnknownGroup(f"@{group} has no nodes that you can see; look with: canton tenant list")
        return xnames

    return parse(text, resolve)


def show_nodes(show: Show, items: Iterable[Item]) -> None:
    """Print nodes; in the default table, nodes with equal values share a row."""
    named_columns = tuple(show.columns)
    folds = set(named_columns) & {"nodes", "count"}
    if show.quiet or show.format in ("json", "yaml", "name", "csv") or not (folds or _default_table(show)):
        show.listing(NODE, items)
        return
    columns = named_columns or DEFAULT_COLUMNS
    show.rows(columns, fold_rows(items, columns), ("nodes",))


def _default_table(show: Show) -> bool:
    return show.format == "table" and not show.columns


def fold_rows(items: Iterable[Item], column_names: Sequence[str]) -> list[list[str]]:
    """One row for all nodes that are equal in every other column, in the order of their first node."""
    from canton.domain.nodeset.fold import fold  # noqa: PLC0415

    other_columns = [NODE.column(name) for name in column_names if name not in ("nodes", "count")]
    alike: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        look = (*(column.cell(item) for column in other_columns), str(item["stale"]))
        alike.setdefault(look, []).append(item)
    rows = []
    for cells, group in alike.items():
        values = dict(zip((column.name for column in other_columns), cells, strict=False))
        special = {
            "nodes": cell(fold(str(item["xname"]) for item in group)),
            "count": str(len(group)),
            "power": power_cell(group),
        }
        rows.append([special.get(name) or values[name] for name in column_names])
    return rows


def power_cell(group: Sequence[Item]) -> str:
    """The power of the nodes of a row, with the age of the oldest reading: ``on 12s ago``."""
    power, stale = cell(group[0]["power"]), bool(group[0]["stale"])
    instants = [str(item["seen_at"]) for item in group if item["seen_at"] is not None]
    if not instants:
        return power
    return f"{power} {ago(min(instants))}{', stale' if stale else ''}"
