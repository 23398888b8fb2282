"""``canton node``: list, show, import, power, and the life cycle from discovered to deleted."""

from __future__ import annotations

from collections.abc import Sequence

import click

from canton.cli.input.nodes import (
    FOLDED,
    matching_nodes,
    missing_nodes,
    nodesets_argument,
    selector_option,
    show_nodes,
    with_standard_input,
)
from canton.cli.input.options import all_tenants_option, complete_names, limit_option, output_options, session_options
from canton.cli.lazy import Entry, LazyGroup
from canton.cli.output.columns import NODE
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Item, Show
from canton.cli.output.watch import watch as watch_list
from canton.cli.output.watch import watch_option
from canton.cli.session.session import Session
from canton.domain.errors import UnknownNodes

CHANGES = {
    "import": Entry("canton.cli.commands.node_change:import_nodes", "Add nodes from a file"),
    "power": Entry("canton.cli.commands.node_change:power", "Power nodes on and off"),
    "enroll": Entry("canton.cli.commands.node_lifecycle:enroll", "Make discovered, quarantined or repaired nodes free"),
    "assign": Entry("canton.cli.commands.node_lifecycle:assign", "Give free nodes to a tenant"),
    "release": Entry("canton.cli.commands.node_lifecycle:release", "Take nodes from their tenant, into quarantine"),
    "maintenance": Entry("canton.cli.commands.node_lifecycle:maintenance", "Take nodes out of service"),
    "retire": Entry("canton.cli.commands.node_lifecycle:retire", "Retire nodes in maintenance for good"),
    "delete": Entry("canton.cli.commands.node_lifecycle:delete", "Remove retired nodes"),
}


@click.group(
    cls=LazyGroup,
    table=CHANGES,
    epilog="\b\nExamples:\n  canton node list --selector state=free\n  canton node power off @psi --dry-run",
)
def node() -> None:
    """List, show and import nodes, power them, and take them through their life cycle.

    \b
    Every command takes nodes as sets:
    x1000c0s[0-3]b0n[0-1]   ranges, in any number of places
    @psi, @psi/alps         the nodes of a tenant, or of a tenant at a site
    -                       names from standard input
    --selector state=free   nodes by site, tenant, state or power
    \b
    The life cycle of a node, with the commands between the states:
    discovered -> enroll -> free -> assign -> assigned -> release -> quarantined
    quarantined -> enroll, or maintenance
    maintenance -> enroll, or retire -> delete
    """


@node.command(
    "list", epilog="\b\nExamples:\n  canton node list @psi\n  canton node list -A --selector power=on -o wide"
)
@nodesets_argument
@selector_option
@limit_option
@watch_option
@all_tenants_option
@output_options(FOLDED, many=True)
@session_options
def list_nodes(
    session: Session,
    show: Show,
    nodesets: Sequence[str],
    selector: dict[str, str],
    limit: int | None,
    watch: bool,
) -> None:
    """List nodes; in a table, nodes with equal values share a row.

    A named node that does not exist, or that you may not see, is an error; the others are listed.
    """
    texts = with_standard_input(nodesets)

    def fetch() -> list[Item]:
        return list(matching_nodes(session, texts, selector, limit))

    if watch:
        watch_list(session, show, fetch, show_nodes, "node.", "step.", "operation.")
        return
    items = fetch() if nodesets else explain_empty(session, fetch(), selector.get("tenant", session.tenant))
    unknown = missing_nodes(texts, items) if nodesets and not selector and limit is None else ""
    if items or not unknown:
        show_nodes(show, items)
    if unknown:
        raise UnknownNodes(f"no such node, or you may not see it: {unknown}; look with: canton node list")


@node.command("show", epilog="\b\nExample:\n  canton node show x1000c0s0b0n0")
@click.argument("xname", shell_complete=complete_names("nodes"))
@output_options(NODE)
@session_options
def show_node(session: Session, show: Show, xname: str) -> None:
    """Show every field of one node.

    XNAME is its xname or its number, such as nid000012.
    """
    if not xname.lower().startswith("nid"):
        show.one(NODE, session.client.nodes.get(xname))
        return
    items = list(session.client.nodes.list(nodeset=xname, limit=1))
    if not items:
        raise UnknownNodes(f"no such node, or you may not see it: {xname}; look with: canton node list")
    show.one(NODE, items[0])
