"""NodeMaps, power maps and subscriptions."""

from __future__ import annotations

from hypothesis import strategies as st

from differential.generators.smd_components import plain_nodes
from differential.generators.values import (
    NODES,
    ROLES,
    STATES,
    SUBROLES,
    Steps,
    asks,
    node_lists,
    path_xnames,
    sends,
    some,
    spoiled,
    under,
    xnames,
)
from differential.sequence import patch, post

BASE = "smd:/hsm/v2"
nids = st.sampled_from((0, 1, 2, -1, "1", 10**9))
node_map = spoiled(
    some(
        {
            "Role": st.sampled_from(ROLES),
            "SubRole": st.sampled_from(SUBROLES),
            "NodeInfo": st.sampled_from(({"a": 1}, None, "text")),
        },
        ID=xnames,
        NID=nids,
    ),
    often=10,
)
power_map = spoiled(some({"poweredBy": st.lists(xnames, max_size=3)}, id=xnames), often=10)
# No server listens on port 1.
urls = st.sampled_from(("http://127.0.0.1:1/a", "http://127.0.0.1:1/b", "nonsense", ""))
lists = {
    "Roles": st.lists(st.sampled_from(ROLES), max_size=2),
    "SubRoles": st.lists(st.sampled_from(SUBROLES), max_size=2),
    "SoftwareStatus": st.lists(st.sampled_from(("AdminDown", "any")), max_size=2),
    "States": st.lists(st.sampled_from(STATES), max_size=3),
}
numbers = st.sampled_from(("1", "2", "3", "0", "x", "-1"))


def _maps(path: str, one: Steps, several: Steps) -> Steps:
    return st.one_of(
        several,
        several,
        one,
        asks("GET", path),
        asks("GET", under(path, path_xnames)),
        asks("DELETE", under(path, path_xnames)),
        asks("DELETE", path),
    )


def _subscriptions() -> Steps:
    path = f"{BASE}/Subscriptions/SCN"
    subscription = some({"Enabled": st.booleans(), **lists}, Subscriber=st.sampled_from(("a@b", "a", "")), Url=urls)
    change = some({"Enabled": st.booleans(), **lists}, Op=st.sampled_from(("add", "remove", "replace", "Add", "bad")))
    return st.one_of(
        sends("POST", path, subscription),
        sends("POST", path, subscription),
        asks("GET", path),
        asks("GET", under(path, numbers)),
        sends("PUT", under(path, numbers), subscription),
        sends("PATCH", under(path, numbers), change),
        asks("DELETE", under(path, numbers)),
        asks("DELETE", path),
    )


def creations() -> Steps:
    """Valid maps and subscriptions."""
    return st.one_of(
        plain_nodes,
        st.sampled_from(NODES).map(
            lambda name: post(f"{BASE}/Defaults/NodeMaps", {"NodeMaps": [{"ID": name, "NID": NODES.index(name)}]})
        ),
        st.sampled_from(NODES).map(
            lambda name: post(f"{BASE}/sysinfo/powermaps", [{"id": name, "poweredBy": ["x3000m0p0j1"]}])
        ),
        st.sampled_from("ab").map(
            lambda name: post(
                f"{BASE}/Subscriptions/SCN",
                {"Subscriber": name, "Enabled": True, "States": ["On"], "Url": f"http://127.0.0.1:1/{name}"},
            )
        ),
    )


def steps() -> Steps:
    nodemaps, powermaps = f"{BASE}/Defaults/NodeMaps", f"{BASE}/sysinfo/powermaps"
    change = node_lists.map(
        lambda ids: patch(f"{BASE}/State/Components/BulkStateData", {"ComponentIDs": ids, "State": "Off"})
    )
    return st.one_of(
        plain_nodes,
        change,
        _maps(
            nodemaps,
            sends("PUT", under(nodemaps, path_xnames), node_map),
            sends("POST", nodemaps, some({}, NodeMaps=st.lists(node_map, max_size=3))),
        ),
        _maps(
            powermaps,
            sends("PUT", under(powermaps, path_xnames), power_map),
            sends("POST", powermaps, st.lists(power_map, max_size=3)),
        ),
        _subscriptions(),
    )
