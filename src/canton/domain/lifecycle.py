"""The life cycle of a node, as one table.

Three rules hold by the shape of the table and are tested as such:

* the only way to a tenant is from ``free``, and the only way to ``free`` is the event ``sanitised``;
* ``abandon`` and ``doubt`` are possible in every state, so giving up and raising an alarm never fail;
* an operation that is abandoned in the middle leaves the node in quarantine, never in a state that looks finished.

Ports shrink before a node loses its tenant and grow only after it has one: an event that takes the tenant
away is recorded after the ports were read back empty. If it is recorded earlier, ``invariants`` reports the ports.
``docs/reference/node-lifecycle.md`` is generated from this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from canton.domain.errors import InvalidTransition


class NodeState(StrEnum):
    """The state of a node in its life cycle; ``STATES`` has the meanings."""

    DISCOVERED = "discovered"
    FREE = "free"
    JOINING = "joining"
    ASSIGNED = "assigned"
    LEAVING = "leaving"
    QUARANTINED = "quarantined"
    CLEANING = "cleaning"
    MAINTENANCE = "maintenance"
    RETIRED = "retired"


class NodeEvent(StrEnum):
    """An event in the life cycle of a node; ``EVENTS`` has the meanings."""

    ASSIGN = "assign"
    JOINED = "joined"
    RELEASE = "release"
    CLEAN = "clean"
    SANITISED = "sanitised"
    VACATED = "vacated"
    MAINTENANCE = "maintenance"
    RETIRE = "retire"
    UNDO = "undo"
    ABANDON = "abandon"
    DOUBT = "doubt"


S, E = NodeState, NodeEvent

INITIAL = S.DISCOVERED


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFacts:
    """What is true of every node in a state."""

    meaning: str
    transient: bool = False
    """An open operation works on the node and holds its claim; no node may stay in this state."""
    tenant: bool = False
    """The node names a tenant, and its ports may carry that tenant's segments; in other states neither is true."""
    sanitises: bool = False
    """The data of the last user is removed in this state."""


STATES: Mapping[NodeState, StateFacts] = {
    S.DISCOVERED: StateFacts(meaning="seen by the site's inventory, never verified by Canton"),
    S.FREE: StateFacts(meaning="without a tenant; sanitised, or a person vouched that it is"),
    S.JOINING: StateFacts(meaning="being handed to a tenant", transient=True, tenant=True),
    S.ASSIGNED: StateFacts(meaning="belongs to a tenant", tenant=True),
    S.LEAVING: StateFacts(
        meaning="being taken back: cut off, then sanitised", transient=True, tenant=True, sanitises=True
    ),
    S.QUARANTINED: StateFacts(meaning="in doubt: without a tenant, waits for a person or a cleaning"),
    S.CLEANING: StateFacts(meaning="being verified and sanitised", transient=True, sanitises=True),
    S.MAINTENANCE: StateFacts(meaning="taken out of service by the provider; a person may be working on it"),
    S.RETIRED: StateFacts(meaning="given up for good"),
}

EVENTS: Mapping[NodeEvent, str] = {
    E.ASSIGN: "a handover to a tenant was started",
    E.JOINED: "the handover is complete and read back",
    E.RELEASE: "taking the node back from its tenant was started",
    E.CLEAN: "verifying and sanitising was started",
    E.SANITISED: "the node is sanitised: by steps that Canton carried out, or a person vouches for it",
    E.VACATED: "the tenant lost the node, and nothing was sanitised",
    E.MAINTENANCE: "the provider took the node out of service",
    E.RETIRE: "the provider gave the node up",
    E.UNDO: "the operation's steps were taken back",
    E.ABANDON: "the operation was given up where it stood",
    E.DOUBT: "Canton can no longer show that the node is separate",
}


@dataclass(frozen=True, slots=True)
class Transition:
    """One row of the table: in ``state``, ``event`` leads to ``next_state``, for the reason ``why``."""

    state: NodeState
    event: NodeEvent
    next_state: NodeState
    why: str


def is_transient(state: NodeState) -> bool:
    """An open operation must hold a node that is in this state."""
    return STATES[state].transient


def must_have_tenant(state: NodeState) -> bool:
    """A node in this state names a tenant; in any other it must not."""
    return STATES[state].tenant


RESTING = tuple(state for state in NodeState if not is_transient(state))

TRANSITIONS: tuple[Transition, ...] = (
    Transition(S.DISCOVERED, E.CLEAN, S.CLEANING, "nothing is known of its past, so it is verified first"),
    Transition(S.DISCOVERED, E.MAINTENANCE, S.MAINTENANCE, "the provider does not want it in service"),
    Transition(S.DISCOVERED, E.DOUBT, S.QUARANTINED, "a person looks at the finding before it is cleaned"),
    Transition(S.FREE, E.ASSIGN, S.JOINING, "the only way to a tenant"),
    Transition(S.FREE, E.CLEAN, S.CLEANING, "an attestation ages; a free node may be verified again"),
    Transition(S.FREE, E.MAINTENANCE, S.MAINTENANCE, "it has no tenant who would have to agree"),
    Transition(S.FREE, E.DOUBT, S.QUARANTINED, "a node in doubt is not given to a tenant"),
    Transition(S.JOINING, E.JOINED, S.ASSIGNED, "every step was read back"),
    Transition(S.JOINING, E.UNDO, S.QUARANTINED, "the tenant may have had root; sanitising makes it free"),
    Transition(S.JOINING, E.ABANDON, S.QUARANTINED, "it is not known how far the handover came"),
    Transition(S.JOINING, E.DOUBT, S.QUARANTINED, "a handover in doubt is stopped"),
    Transition(S.ASSIGNED, E.RELEASE, S.LEAVING, "the only planned way from a tenant"),
    Transition(S.ASSIGNED, E.DOUBT, S.QUARANTINED, "separation outranks availability: the tenant loses it"),
    Transition(S.LEAVING, E.SANITISED, S.FREE, "nothing of the tenant is left"),
    Transition(S.LEAVING, E.VACATED, S.QUARANTINED, "not sanitised: the tenant's data may still be on it"),
    Transition(S.LEAVING, E.ABANDON, S.QUARANTINED, "the tenant's data may still be on it"),
    Transition(S.LEAVING, E.DOUBT, S.QUARANTINED, "sanitising in doubt counts as not sanitised"),
    Transition(S.QUARANTINED, E.CLEAN, S.CLEANING, "the only way back into service"),
    Transition(S.QUARANTINED, E.MAINTENANCE, S.MAINTENANCE, "a person has to look at the hardware"),
    Transition(S.QUARANTINED, E.DOUBT, S.QUARANTINED, "one more finding changes nothing"),
    Transition(S.CLEANING, E.SANITISED, S.FREE, "no data of an earlier user is left"),
    Transition(S.CLEANING, E.ABANDON, S.QUARANTINED, "half cleaned is not clean"),
    Transition(S.CLEANING, E.DOUBT, S.QUARANTINED, "sanitising in doubt counts as not sanitised"),
    Transition(S.MAINTENANCE, E.CLEAN, S.CLEANING, "a person worked on it, and a swapped blade is a new node"),
    Transition(S.MAINTENANCE, E.RETIRE, S.RETIRED, "a person gives up the slot and answers for the drives"),
    Transition(S.MAINTENANCE, E.DOUBT, S.MAINTENANCE, "as isolated as quarantine, and a person may be working on it"),
    Transition(S.RETIRED, E.DOUBT, S.RETIRED, "it has no tenant and never will; the finding is reported"),
    *(Transition(s, E.UNDO, s, "a node at rest stays where it is") for s in RESTING),
    *(Transition(s, E.ABANDON, s, "a node at rest stays where it is") for s in RESTING),
)

_NEXT = {(row.state, row.event): row.next_state for row in TRANSITIONS}


def events_from(state: NodeState) -> tuple[NodeEvent, ...]:
    """The events possible in a state, in the order they are declared."""
    return tuple(event for event in NodeEvent if (state, event) in _NEXT)


def next_state(state: NodeState, event: NodeEvent) -> NodeState:
    """The state after an event; raises ``InvalidTransition``, which lists the possible events."""
    if (state, event) in _NEXT:
        return _NEXT[state, event]
    possible = events_from(state)
    raise InvalidTransition(
        f"a node that is {state} cannot take the event '{event}'; possible from {state}: {', '.join(possible)}",
        state=state,
        event=event,
        possible=possible,
    )
