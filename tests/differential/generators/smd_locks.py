"""Locks and reservations, with the keys that earlier replies gave."""

from __future__ import annotations

from hypothesis import strategies as st

from differential.generators.smd_components import plain_nodes
from differential.generators.values import (
    ROLES,
    STATES,
    Steps,
    Values,
    asks,
    node_lists,
    nodes,
    queried,
    sends,
    some,
    spoiled,
    xnames,
)

BASE = "smd:/hsm/v2/locks"
models = st.sampled_from(("rigid", "flexible", "Rigid", "", "loose"))
durations = st.sampled_from((0, 1, 15, 16, -1, 60, "1"))
KEEP = {
    "rk": "body/Success/0/ReservationKey",
    "dk": "body/Success/0/DeputyKey",
    "rk2": "body/Success/1/ReservationKey",
    "dk2": "body/Success/1/DeputyKey",
}
keys: Values = st.lists(
    spoiled(
        some({}, ID=st.one_of(nodes, xnames), Key=st.sampled_from(("<rk>", "<dk>", "<rk2>", "<dk2>", "x:rk:1", ""))),
        often=8,
    ),
    max_size=3,
)
selection = {
    "NID": st.lists(st.sampled_from(("0", "1", "x")), max_size=2),
    "Type": st.lists(st.sampled_from(("Node", "NodeBMC", "bad")), max_size=2),
    "State": st.lists(st.sampled_from(STATES), max_size=2),
    "Role": st.lists(st.sampled_from(ROLES), max_size=2),
    "Partition": st.lists(st.sampled_from(("p1", "p2")), max_size=1),
    "Group": st.lists(st.sampled_from(("blue", "red")), max_size=1),
    "Locked": st.lists(st.sampled_from(("true", "false")), max_size=1),
    "Reserved": st.lists(st.sampled_from(("true", "false")), max_size=1),
    "ReservationDisabled": st.lists(st.sampled_from(("true", "false")), max_size=1),
    "ProcessingModel": models,
}
filters = {
    "type": st.sampled_from(("Node", "NodeBMC", "bad")),
    "state": st.sampled_from(STATES),
    "role": st.sampled_from(ROLES),
    "locked": st.sampled_from(("true", "false", "x")),
    "reserved": st.sampled_from(("true", "false", "x")),
    "reservationDisabled": st.sampled_from(("true", "false", "x")),
}


def steps() -> Steps:
    chosen = some(selection, ComponentIDs=node_lists)
    reserve = some({**selection, "ReservationDuration": durations}, ComponentIDs=node_lists)
    timed = some({"ProcessingModel": models, "ReservationDuration": durations}, ComponentIDs=node_lists)
    release = some({"ProcessingModel": models}, ReservationKeys=keys)
    renew = some({"ProcessingModel": models, "ReservationDuration": durations}, ReservationKeys=keys)
    switch = st.sampled_from(("lock", "unlock", "repair", "disable")).flatmap(
        lambda what: sends("POST", f"{BASE}/{what}", chosen)
    )
    return st.one_of(
        plain_nodes,
        switch,
        switch,
        sends("POST", f"{BASE}/reservations", reserve, KEEP),
        sends("POST", f"{BASE}/service/reservations", timed, KEEP),
        sends("POST", f"{BASE}/service/reservations", timed, KEEP),
        sends("POST", f"{BASE}/reservations/release", release),
        sends("POST", f"{BASE}/reservations/remove", chosen),
        sends("POST", f"{BASE}/service/reservations/release", release),
        sends("POST", f"{BASE}/service/reservations/renew", renew),
        sends("POST", f"{BASE}/service/reservations/check", some({}, DeputyKeys=keys)),
        sends("POST", f"{BASE}/status", some({}, ComponentIDs=node_lists)),
        asks("GET", queried(f"{BASE}/status", filters)),
        asks("GET", f"{BASE}/status"),
    )
