"""An import of a new node as free, or as a tenant's, needs the same permissions as an order that makes it so."""

from __future__ import annotations

from collections.abc import Sequence

from canton.api.mutations.changes import Change
from canton.domain.errors import Forbidden, ReasonRequired
from canton.domain.lifecycle import NodeState
from canton.domain.nodeset.nodeset import fold
from canton.policy.decide import Question
from canton.store.inventory.node_import import Line

# A tenant's node was free before it was assigned, so its import needs both permissions.
_STATES_BY_PERMISSION = {"node.enroll": (NodeState.FREE, NodeState.ASSIGNED), "node.assign": (NodeState.ASSIGNED,)}


def require_import_allowed(change: Change, added: Sequence[Line], *, dry_run: bool) -> None:
    """Raise Forbidden if the caller may not order that these nodes become free or assigned, or ReasonRequired.

    Otherwise a node in quarantine could be deleted and imported as free. A dry run needs no reason.
    """
    authorised_lines = [line for line in added if line.first_state is not NodeState.DISCOVERED]
    for permission, states in _STATES_BY_PERMISSION.items():
        lines = [line for line in authorised_lines if line.first_state in states]
        if lines:
            _require(change, permission, lines)
    if authorised_lines and not change.reason and not dry_run:
        raise ReasonRequired(
            f"importing {fold(line.xname for line in authorised_lines)} as free or assigned needs a reason, which is "
            "recorded: you confirm that nothing of an earlier user is left on them; give it with --reason, or in the "
            "header Canton-Reason"
        )


def _require(change: Change, permission: str, lines: Sequence[Line]) -> None:
    names = fold(line.xname for line in lines)
    alternative = f"import {names} without state and tenant, then: canton node enroll, canton node assign"
    if permission in change.caller.services.settings.policy.two_person:
        raise Forbidden(
            f"{permission} takes two persons; {alternative}", permission=permission, rule="two-persons", tenant=None
        )
    decision = change.caller.decide(Question(permission))
    if not decision.allowed:
        raise Forbidden(f"{decision.reason}; {alternative}", permission=permission, rule=decision.rule, tenant=None)
