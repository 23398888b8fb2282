"""``canton node``: list, show, import, switch and set aside."""

from __future__ import annotations

from collections.abc import Sequence

import click

from canton.cli.lazy import Entry, LazyGroup
from canton.cli.nodes import FOLDED, listed, nodesets, selecting, show_nodes
from canton.cli.options import all_tenants, connected, limited, names, shown
from canton.cli.output import Show
from canton.cli.session import Session
from canton.cli.shapes import NODE
from canton.cli.watch import watch as watch_events
from canton.cli.watch import watchable

CHANGES = {
    "import": Entry("canton.cli.node_change:import_nodes", "add nodes from a file"),
    "power": Entry("canton.cli.node_change:power", "switch nodes on and off"),
    "set-aside": Entry("canton.cli.node_change:set_aside", "take nodes out of service"),
}


@click.group(
    cls=LazyGroup,
    table=CHANGES,
    epilog="\b\nExamples:\n  canton node list --selector state=free\n  canton node power off @psi --dry-run",
)
def node() -> None:
    """List, show, import, switch and set aside nodes.

    \b
    Nodes are named as sets, everywhere:
    x1000c0s[0-3]b0n[0-1]   ranges, in any number of places
    @psi, @psi/alps         the nodes of a tenant, or of a tenant at a site
    -                       names from standard input
    --selector state=free   nodes by what they are
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
    """List nodes; in a table, nodes that are alike share a row."""

    def listing() -> None:
        show_nodes(show, listed(session, nodesets, selector, limit))

    if watch:
        watch_events(session, show, listing, "node.", "step.")
    else:
        listing()


@node.command("show", epilog="\b\nExample:\n  canton node show x1000c0s0b0n0")
@click.argument("xname", shell_complete=names("nodes"))
@shown(NODE)
@connected
def show_node(session: Session, show: Show, xname: str) -> None:
    """Show everything known of one node."""
    show.one(NODE, session.client.nodes.get(xname))
