"""The verbs of ``canton node`` that take nodes through their life cycle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from canton.cli.input.nodes import nodesets_argument, selected_nodes, selector_option
from canton.cli.input.options import (
    ChangeOptions,
    WorkOptions,
    change_options_with_reason,
    output_options,
    session_options,
    work_options,
)
from canton.cli.output.columns import OPERATION
from canton.cli.output.formats import Show
from canton.cli.output.terminal import interactive
from canton.cli.session.change import carry_out, confirm
from canton.cli.session.follow import PlannedAction, submit
from canton.cli.session.session import Session
from canton.domain.errors import InvalidRequest

if TYPE_CHECKING:
    from canton.client.calls import Change
    from canton.client.objects import Operation
    from canton.domain.json_types import Json

    Start: TypeAlias = Callable[[str, str | None, Change], Operation]
    """Starts an operation; takes nodes, the digest of a reviewed plan, and headers."""


@dataclass
class NodeActionOptions:
    """The options that every action on nodes has."""

    session: Session
    show: Show
    change: ChangeOptions
    work: WorkOptions
    nodesets: Sequence[str]
    selector: dict[str, str]

    def submit(self, verb: str, start: Start, **more: Json) -> None:
        """Plan the action, or start it; ``more`` are the other fields of its request."""
        client, nodes = self.session.client.nodes, selected_nodes(self.session, self.nodesets, self.selector)
        action = PlannedAction(
            lambda: client.plan(verb, nodes, **more),
            lambda plan, headers: start(nodes, plan, headers),
            destructive=True,
        )
        submit(self.session, self.show, self.change, self.work, action)


def node_action_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of an action on nodes and passes ``NodeActionOptions``."""

    @nodesets_argument
    @selector_option
    @output_options(OPERATION)
    @work_options
    @change_options_with_reason
    @session_options
    @wraps(function)
    def command(**parameters: Any) -> None:
        common = {field.name: parameters.pop(field.name) for field in fields(NodeActionOptions)}
        function(NodeActionOptions(**common), **parameters)

    return command


@click.command(epilog="\b\nExample:\n  canton node enroll x1000c0s0b0n0 --sanitised-by-hand --reason 'new blade'")
@click.option(
    "--sanitised-by-hand", is_flag=True, help="You confirm that nothing of an earlier user is left on the nodes."
)
@node_action_options
def enroll(options: NodeActionOptions, sanitised_by_hand: bool) -> None:
    """Make nodes free: nodes that are discovered, in quarantine or in maintenance.

    They are powered off first. Canton does not sanitise nodes yet: confirm with --sanitised-by-hand that you did.
    """
    if not sanitised_by_hand:
        raise InvalidRequest(
            "Canton does not sanitise nodes yet: remove by hand what an earlier user left on them (drives, firmware, "
            "credentials), then repeat the command with --sanitised-by-hand. The audit records that you confirmed it"
        )
    client = options.session.client.nodes
    options.submit("enroll", lambda nodes, plan, headers: client.enroll(nodes, plan, **headers), sanitised_by_hand=True)


@click.command(epilog="\b\nExample:\n  canton node assign 'x1000c0s0b0n[0-3]' --tenant psi --reason 'contract 42'")
@node_action_options
def assign(options: NodeActionOptions) -> None:
    """Give free nodes to the tenant of --tenant, powered off.

    Canton does not move networks yet and proves nothing: the nodes' separation is "unproven".
    """
    client, tenant = options.session.client.nodes, options.session.named_tenant
    if options.selector:
        # Free nodes have no tenant; without this, the session's tenant would select its own nodes.
        options.selector = {"tenant": "-", **options.selector}
    options.submit("assign", lambda nodes, plan, headers: client.assign(nodes, tenant, plan, **headers), tenant=tenant)


@click.command(epilog="\b\nExample:\n  canton node release 'x1000c0s0b0n[0-3]' --reason 'contract ended' --dry-run")
@node_action_options
def release(options: NodeActionOptions) -> None:
    """Take nodes from their tenant.

    They are powered off and end in quarantine: Canton does not sanitise yet, so nothing of the tenant is removed.
    """
    client = options.session.client.nodes
    options.submit("release", lambda nodes, plan, headers: client.release(nodes, plan, **headers))


@click.command(epilog="\b\nExample:\n  canton node maintenance x1000c0s0b0n0 --reason 'memory errors'")
@click.option("--leave-power", is_flag=True, help="Do not power them off, for nodes whose controller does not answer.")
@node_action_options
def maintenance(options: NodeActionOptions, leave_power: bool) -> None:
    """Power nodes off and take them out of service; only nodes without a tenant.

    To put them back into service: canton node enroll.
    """
    client, power = options.session.client.nodes, "unchanged" if leave_power else "off"
    options.submit(
        "maintenance", lambda nodes, plan, headers: client.maintenance(nodes, plan, power, **headers), power=power
    )


@click.command(epilog="\b\nExample:\n  canton node retire x1000c0s0b0n0 --reason 'blade sent back'")
@node_action_options
def retire(options: NodeActionOptions) -> None:
    """Retire nodes in maintenance for good; nothing is done to the hardware."""
    client = options.session.client.nodes
    options.submit("retire", lambda nodes, plan, headers: client.retire(nodes, plan, **headers))


@click.command(epilog="\b\nExample:\n  canton node delete x1000c0s0b0n0 --reason 'cabinet gone' --dry-run")
@nodesets_argument
@selector_option
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted.")
@change_options_with_reason
@session_options
def delete(
    session: Session, change: ChangeOptions, nodesets: Sequence[str], selector: dict[str, str], dry_run: bool
) -> None:
    """Remove retired nodes, all of them or none; the audit keeps their names."""
    client, nodes = session.client.nodes, selected_nodes(session, nodesets, selector)
    if dry_run or (interactive() and not change.yes):
        would = client.delete(nodes, dry_run=True)
        if dry_run:
            click.echo(f"{would['count']} would be deleted: {would['nodes']}")
            return
        confirm(f"Delete {would['count']} node{'s' if would['count'] > 1 else ''}: {would['nodes']}?", change)
    deleted = carry_out(session, change, lambda headers: client.delete(nodes, **headers))
    click.echo(f"{deleted['count']} deleted: {deleted['nodes']}")
