"""An import that says of a new node that it is free, or a tenant's, vouches for it, as an enrolment does."""

from __future__ import annotations

from collections.abc import Sequence

from canton.api.mutations.changes import Change
from canton.domain.errors import Forbidden, ReasonRequired
from canton.domain.lifecycle import NodeState
from canton.domain.nodeset.nodeset import fold
from canton.policy.decide import Question
from canton.store.inventory.node_import import Line

# A tenant's node was made free before, if not by Canton: both are vouched for.
_VOUCHED = {"node.enroll": (NodeState.FREE, NodeState.ASSIGNED), "node.assign": (NodeState.ASSIGNED,)}


def require_vouching(change: Change, added: Sequence[Line], *, dry_run: bool) -> None:
    """Refuse nodes that the caller could not make free or assign by an order of their own; a dry run needs no reason.

    Otherwise a node in quarantine could be deleted and imported as free.
    """
    vouched = [line for line in added if line.first_state is not NodeState.DISCOVERED]
    for permission, states in _VOUCHED.items():
        lines = [line for line in vouched if line.first_state in states]
        if lines:
            _require(change, permission, lines)
    if vouched and not change.reason and not dry_run:
        raise ReasonRequired(
            f"to import {fold(line.xname for line in vouched)} as free or assigned is to vouch for them, and that is "
            "recorded with its reason; say why with --reason, or the header Canton-Reason"
        )


def _require(change: Change, permission: str, lines: Sequence[Line]) -> None:
    names = fold(line.xname for line in lines)
    way = f"import {names} without state and tenant, then: canton node enroll, canton node assign"
    if permission in change.caller.services.settings.policy.two_person:
        raise Forbidden(
            f"{permission} takes two persons; {way}", permission=permission, rule="two-persons", tenant=None
        )
    decision = change.caller.decide(Question(permission))
    if not decision.allowed:
        raise Forbidden(f"{decision.reason}; {way}", permission=permission, rule=decision.rule, tenant=None)
