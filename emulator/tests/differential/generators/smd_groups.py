"""Groups, partitions and memberships."""

from __future__ import annotations

from hypothesis import strategies as st

from differential.generators.smd_components import plain_nodes
from differential.generators.values import (
    Steps,
    Values,
    asks,
    node_lists,
    nodes,
    path_xnames,
    queried,
    sends,
    some,
    under,
    xnames,
)
from differential.sequence import post

BASE = "smd:/hsm/v2"
LABELS = ("blue", "red", "green", "Blue", "a.b-c_d", "bad one", "ä", "", "null", "labels", "x" * 70)
NAMES = ("p1", "p2", "p1.2", "p1.1", "p0", "P1", "pfoo", "p1.2.3", "", "names")
labels, names = st.sampled_from(LABELS), st.sampled_from(NAMES)
path_labels = st.sampled_from(("blue", "red", "green", "Blue", "a.b-c_d", "missing", "bad%20one"))
path_names = st.sampled_from(("p1", "p2", "p1.2", "P1", "pfoo", "missing"))
tags = st.lists(st.sampled_from(("t1", "t2", "T1", "bad tag", "")), max_size=3)
exclusives = st.sampled_from(("colours", "Colours", "", "bad one"))
texts = st.sampled_from(("", "a description", "ä\n"))
members: Values = st.one_of(
    some({}, ids=node_lists), some({}, ids=node_lists), st.sampled_from((None, {}, [], {"ids": None}))
)
filters = {
    "group": st.sampled_from(("blue", "red", "bad%20one", "")),
    "partition": st.sampled_from(("p1", "p1.2", "..", "")),
    "tag": st.sampled_from(("t1", "t2", "none", "bad%20tag")),
    "type": st.sampled_from(("Node", "node", "Nonsense")),
    "state": st.sampled_from(("On", "Off", "bad")),
    "id": xnames.filter(str.isalnum),
}


def _kind(kind: str, name: str, keys: st.SearchStrategy[str], body: Values) -> Steps:
    base = f"{BASE}/{kind}"
    patch = some({"tags": tags, "description": texts, name: keys})
    return st.one_of(
        sends("POST", base, body),
        sends("POST", base, body),
        asks("GET", queried(base, filters, 2)),
        asks("GET", base),
        asks("GET", f"{base}/{'labels' if kind == 'groups' else 'names'}"),
        keys.flatmap(lambda key: asks("GET", queried(f"{base}/{key}", {"partition": filters["partition"]}, 1))),
        sends("PATCH", under(base, keys), patch),
        asks("DELETE", under(base, keys)),
        keys.flatmap(lambda key: asks("GET", queried(f"{base}/{key}/members", {"partition": filters["partition"]}, 1))),
        sends("POST", under(base, keys, "/members"), some({}, id=xnames)),
        st.tuples(keys, path_xnames).flatmap(lambda pair: asks("DELETE", f"{base}/{pair[0]}/members/{pair[1]}")),
    )


def creations() -> Steps:
    """Valid groups and partitions."""
    ids = st.lists(nodes, max_size=3, unique=True)
    groups = st.tuples(st.sampled_from(("blue", "red", "green")), ids, st.booleans()).map(
        lambda parts: post(
            f"{BASE}/groups",
            {"label": parts[0], "members": {"ids": parts[1]}, "tags": ["t1"]}
            | ({"exclusiveGroup": "colours"} if parts[2] else {}),
        )
    )
    partitions = st.tuples(st.sampled_from(("p1", "p2", "p1.2")), ids).map(
        lambda parts: post(f"{BASE}/partitions", {"name": parts[0], "members": {"ids": parts[1]}})
    )
    return st.one_of(groups, partitions)


def steps() -> Steps:
    group = some({"description": texts, "exclusiveGroup": exclusives, "tags": tags, "members": members}, label=labels)
    partition = some({"description": texts, "tags": tags, "members": members}, name=names)
    return st.one_of(
        plain_nodes,
        _kind("groups", "label", path_labels, group),
        _kind("partitions", "name", path_names, partition),
        asks("GET", queried(f"{BASE}/memberships", filters)),
        asks("GET", under(f"{BASE}/memberships", path_xnames)),
        asks("DELETE", under(f"{BASE}/State/Components", path_xnames)),
    )
