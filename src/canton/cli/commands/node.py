"""``canton node``: list, show, import, power, and the life cycle from discovered to deleted."""

from __future__ import annotations

from collections.abc import Sequence

import click

from canton.cli.input.nodes import (
    FOLDED,
    matching,
    missing,
    nodesets,
    selecting,
    show_nodes,
    with_standard_input,
)
from canton.cli.input.options import all_tenants, connected, limited, names, shown
from canton.cli.lazy import Entry, LazyGroup
from canton.cli.output.columns import NODE
from canton.cli.output.empty_lists import listed
from canton.cli.output.formats import Item, Show
from canton.cli.output.watch import watch as watch_list
from canton.cli.output.watch import watchable
from canton.cli.session.session import Session
from canton.domain.errors import UnknownNodes

CHANGES = {
    "import": Entry("canton.cli.commands.node_change:import_nodes", "Add nodes from a file"),
    "power": Entry("canton.cli.commands.node_change:power", "Switch nodes on and off"),
    "enroll": Entry("canton.cli.commands.node_lifecycle:enroll", "Make discovered, quarantined or repaired nodes free"),
    "assign": Entry("canton.cli.commands.node_lifecycle:assign", "Give free nodes to a tenant"),
    "release": Entry("canton.cli.commands.node_lifecycle:release", "Take nodes from their tenant, into quarantine"),
    "maintenance": Entry("canton.cli.commands.node_lifecycle:maintenance", "Take nodes out of service"),
    "retire": Entry("canton.cli.commands.node_lifecycle:retire", "Give nodes in maintenance up for good"),
    "delete": Entry("canton.cli.commands.node_lifecycle:delete", "Remove retired nodes"),
}


@click.group(
    cls=LazyGroup,
    table=CHANGES,
    epilog="\b\nExamples:\n  canton node list --selector state=free\n  canton node power off @psi --dry-run",
)
def node() -> None:
    """List, show and import nodes, switch them, and take them through their life cycle.

    \b
    Nodes are named as sets, everywhere:
    x1000c0s[0-3]b0n[0-1]   ranges, in any number of places
    @psi, @psi/alps         the nodes of a tenant, or of a tenant at a site
    -                       names from standard input
    --selector state=free   nodes by what they are
    \b
    The life cycle of a node, and the command that leads on:
    discovered -> enroll -> free -> assign -> assigned -> release -> quarantined
    quarantined -> enroll, or maintenance
    maintenance -> enroll, or retire -> delete
    """


@node.command(
    "list", epilog="\b\nExamples:\n  canton node list @psi\n  canton node list -A --selector power=on -o wide"
)
@nodesets
@selecting
@limited
@watchable
@all_tenants
@shown(FOLDED, many=True)
@connected
def list_nodes(
    session: Session,
    show: Show,
    nodesets: Sequence[str],
    selector: dict[str, str],
    limit: int | None,
    watch: bool,
) -> None:
    """List nodes; in a table, nodes that are alike share a row.

    A node that is named and not there, or not yours to see, is an error, and the others are listed.
    """
    texts = with_standard_input(nodesets)

    def fetch() -> list[Item]:
        return list(matching(session, texts, selector, limit))

    if watch:
        watch_list(session, show, fetch, show_nodes, "node.", "step.", "operation.")
        return
    items = fetch() if nodesets else listed(session, fetch(), selector.get("tenant", session.tenant))
    unknown = missing(texts, items) if nodesets and not selector and limit is None else ""
    if items or not unknown:
        show_nodes(show, items)
    if unknown:
        raise UnknownNodes(f"no such node, or not yours to see: {unknown}; look with: canton node list")


@node.command("show", epilog="\b\nExample:\n  canton node show x1000c0s0b0n0")
@click.argument("xname", shell_complete=names("nodes"))
@shown(NODE)
@connected
def show_node(session: Session, show: Show, xname: str) -> None:
    """Show everything known of one node.

    It is named by its xname or its number, such as nid000012.
    """
    if not xname.lower().startswith("nid"):
        show.one(NODE, session.client.nodes.get(xname))
        return
    items = list(session.client.nodes.list(nodeset=xname, limit=1))
    if not items:
        raise UnknownNodes(f"no such node, or not yours to see: {xname}; look with: canton node list")
    show.one(NODE, items[0])
