"""Locks and reservations, with the keys that earlier replies gave."""

from __future__ import annotations

from hypothesis import strategies as st

from differential.generators.smd_components import plain_nodes
from differential.generators.values import (
    NODES,
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
# By node: SMD lists the reserved components in no order.
KEEP = {
    f"{short}{at}": f"body/Success/ID={node}/{name}"
    for at, node in enumerate(NODES)
    for short, name in (("rk", "ReservationKey"), ("dk", "DeputyKey"))
}
right_keys = st.integers(0, len(NODES) - 1).flatmap(
    lambda at: st.sampled_from(("rk", "dk")).map(lambda short: {"ID": NODES[at], "Key": f"<{short}{at}>"})
)
odd_keys = some({}, ID=st.one_of(nodes, xnames), Key=st.sampled_from((*(f"<{name}>" for name in KEEP), "x:rk:1", "")))
keys: Values = st.lists(spoiled(st.one_of(right_keys, right_keys, odd_keys), often=8), max_size=3)
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
    plain = some(
        {"ProcessingModel": st.sampled_from(("rigid", "flexible"))},
        ComponentIDs=st.lists(nodes, min_size=1, max_size=3, unique=True),
    )
    selections = st.one_of(plain, plain, some(selection, ComponentIDs=node_lists))
    reserve = st.one_of(plain, some({**selection, "ReservationDuration": durations}, ComponentIDs=node_lists))
    minutes = plain.map(lambda body: {**body, "ReservationDuration": 5})
    timed = st.one_of(
        minutes,
        minutes,
        some({"ProcessingModel": models, "ReservationDuration": durations}, ComponentIDs=node_lists),
    )
    release = some({"ProcessingModel": models}, ReservationKeys=keys)
    renew = some({"ProcessingModel": models, "ReservationDuration": durations}, ReservationKeys=keys)
    switch = st.sampled_from(("lock", "unlock", "repair", "disable")).flatmap(
        lambda what: sends("POST", f"{BASE}/{what}", selections)
    )
    return st.one_of(
        plain_nodes,
        switch,
        switch,
        sends("POST", f"{BASE}/reservations", reserve, KEEP),
        sends("POST", f"{BASE}/service/reservations", timed, KEEP),
        sends("POST", f"{BASE}/service/reservations", timed, KEEP),
        sends("POST", f"{BASE}/reservations/release", release),
        sends("POST", f"{BASE}/reservations/remove", selections),
        sends("POST", f"{BASE}/service/reservations/release", release),
        sends("POST", f"{BASE}/service/reservations/renew", renew),
        sends("POST", f"{BASE}/service/reservations/check", some({}, DeputyKeys=keys)),
        sends("POST", f"{BASE}/status", some({}, ComponentIDs=node_lists)),
        asks("GET", queried(f"{BASE}/status", filters)),
        asks("GET", f"{BASE}/status"),
    )
