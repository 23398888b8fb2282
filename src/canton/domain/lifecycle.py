"""The life cycle of a node, as one table.

Three rules hold by the shape of the table and are tested as such:

* the only way to a tenant is from ``free``, and the only way to ``free`` is the event ``sanitised``;
* ``abandon`` and ``doubt`` are possible in every state, so giving up and raising an alarm never fail;
* whoever gives up in the middle leaves the node in quarantine, never in a state that looks finished.

Ports shrink before a node loses its tenant and grow only after it has one: an event that takes the tenant
away is recorded once the ports were read back empty. Recorded earlier, ``invariants`` reports the ports.
``docs/reference/node-lifecycle.md`` is drawn from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from canton.domain.errors import InvalidTransition


class NodeState(StrEnum):
    """Where a node is in its life; ``STATES`` says what each means."""

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
    """What happened to a node; ``EVENTS`` says what each states."""

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
    """An open operation is at work on the node and holds its claim; nothing may rest here."""
    tenant: bool = False
    """The node names a tenant, and its ports may carry that tenant's segments; otherwise neither."""
    sanitises: bool = False
    """What the last user left behind is removed here."""


STATES: Mapping[NodeState, StateFacts] = {
    S.DISCOVERED: StateFacts(meaning="seen by the site's inventory, never verified by Canton"),
    S.FREE: StateFacts(meaning="belongs to nobody; sanitised, or a person vouched that it is"),
    S.JOINING: StateFacts(meaning="being handed to a tenant", transient=True, tenant=True),
    S.ASSIGNED: StateFacts(meaning="a tenant's", tenant=True),
    S.LEAVING: StateFacts(
        meaning="being taken back: cut off, then sanitised", transient=True, tenant=True, sanitises=True
    ),
    S.QUARANTINED: StateFacts(meaning="in doubt: nobody's, waits for a person or a cleaning"),
    S.CLEANING: StateFacts(meaning="being verified and sanitised", transient=True, sanitises=True),
    S.MAINTENANCE: StateFacts(meaning="taken out of service by the provider; hands may be on it"),
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
    """One row of the table: in this state, this event leads there, for this reason."""

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
    Transition(S.DISCOVERED, E.DOUBT, S.QUARANTINED, "a finding wants a look before it is cleaned"),
    Transition(S.FREE, E.ASSIGN, S.JOINING, "the only way to a tenant"),
    Transition(S.FREE, E.CLEAN, S.CLEANING, "an attestation ages; a free node may be verified again"),
    Transition(S.FREE, E.MAINTENANCE, S.MAINTENANCE, "nobody's, so nobody has to be asked"),
    Transition(S.FREE, E.DOUBT, S.QUARANTINED, "what is in doubt is not handed out"),
    Transition(S.JOINING, E.JOINED, S.ASSIGNED, "every step was read back; what is not proved is unproven"),
    Transition(S.JOINING, E.UNDO, S.QUARANTINED, "the tenant may have had root; sanitising makes it free"),
    Transition(S.JOINING, E.ABANDON, S.QUARANTINED, "nobody knows how far the handover came"),
    Transition(S.JOINING, E.DOUBT, S.QUARANTINED, "a handover in doubt does not go on"),
    Transition(S.ASSIGNED, E.RELEASE, S.LEAVING, "the only planned way from a tenant"),
    Transition(S.ASSIGNED, E.DOUBT, S.QUARANTINED, "separation outranks availability: the tenant loses it"),
    Transition(S.LEAVING, E.SANITISED, S.FREE, "nothing of the tenant is left"),
    Transition(S.LEAVING, E.VACATED, S.QUARANTINED, "not sanitised: the tenant's data may still be on it"),
    Transition(S.LEAVING, E.ABANDON, S.QUARANTINED, "the tenant's data may still be on it"),
    Transition(S.LEAVING, E.DOUBT, S.QUARANTINED, "sanitising in doubt counts as not sanitised"),
    Transition(S.QUARANTINED, E.CLEAN, S.CLEANING, "the only way back into service"),
    Transition(S.QUARANTINED, E.MAINTENANCE, S.MAINTENANCE, "a person has to look at the hardware"),
    Transition(S.QUARANTINED, E.DOUBT, S.QUARANTINED, "one more finding changes nothing"),
    Transition(S.CLEANING, E.SANITISED, S.FREE, "nothing of an earlier user is left, whoever that was"),
    Transition(S.CLEANING, E.ABANDON, S.QUARANTINED, "half cleaned is not clean"),
    Transition(S.CLEANING, E.DOUBT, S.QUARANTINED, "sanitising in doubt counts as not sanitised"),
    Transition(S.MAINTENANCE, E.CLEAN, S.CLEANING, "hands were on it: a swapped blade is a new node"),
    Transition(S.MAINTENANCE, E.RETIRE, S.RETIRED, "a person gives up the slot and answers for the drives"),
    Transition(S.MAINTENANCE, E.DOUBT, S.MAINTENANCE, "as closed as quarantine, and hands may be on it"),
    Transition(S.RETIRED, E.DOUBT, S.RETIRED, "it carries nobody and never will; the finding is reported"),
    *(Transition(s, E.UNDO, s, "a node at rest stays where it is") for s in RESTING),
    *(Transition(s, E.ABANDON, s, "a node at rest stays where it is") for s in RESTING),
)

_NEXT = {(row.state, row.event): row.next_state for row in TRANSITIONS}


def events_from(state: NodeState) -> tuple[NodeEvent, ...]:
    """The events possible in a state, in the order they are declared."""
    return tuple(event for event in NodeEvent if (state, event) in _NEXT)


def next_state(state: NodeState, event: NodeEvent) -> NodeState:
    """Where an event leads, or ``InvalidTransition`` naming the events that are possible."""
    if (state, event) in _NEXT:
        return _NEXT[state, event]
    possible = events_from(state)
    raise InvalidTransition(
        f"a node that is {state} cannot take the event '{event}'; possible from {state}: {', '.join(possible)}",
        state=state,
        event=event,
        possible=possible,
    )
