"""Components: creation, all single and bulk updates, all queries."""

from __future__ import annotations

from hypothesis import strategies as st

from differential.generators.values import (
    ARCHES,
    CLASSES,
    FLAGS,
    ROLES,
    STATES,
    SUBROLES,
    TYPES,
    Steps,
    asks,
    node_lists,
    nodes,
    path_xnames,
    queried,
    sends,
    some,
    spoiled,
    under,
    xnames,
)
from differential.sequence import post

BASE = "smd:/hsm/v2/State/Components"
nids = st.one_of(st.integers(0, 4), st.sampled_from((-1, 10**9, "1", 1.0)))
states, flags, roles, subroles = (st.sampled_from(pool) for pool in (STATES, FLAGS, ROLES, SUBROLES))

components = spoiled(
    some(
        {
            "Flag": flags,
            "Enabled": st.booleans(),
            "Role": roles,
            "SubRole": subroles,
            "NID": nids,
            "SoftwareStatus": st.sampled_from(("AdminDown", "", "any text")),
            "Arch": st.sampled_from(ARCHES),
            "Class": st.sampled_from(CLASSES),
            "NetType": st.sampled_from(("Sling", "Ethernet", "sling", "Pigeon")),
            "Type": st.sampled_from(TYPES),
            "Subtype": st.sampled_from(("", "any")),
            "Locked": st.booleans(),
            "ReservationDisabled": st.booleans(),
        },
        ID=st.one_of(nodes, nodes, xnames),
        State=states,
    ),
    often=12,
)
plain_nodes = st.lists(nodes, min_size=1, max_size=4, unique=True).map(
    lambda names: post(BASE, {"Components": [{"ID": name, "State": "On", "NID": at} for at, name in enumerate(names)]})
)
a_list = st.lists(components, max_size=4)
words = {
    "type": st.sampled_from(TYPES),
    "state": states,
    "flag": flags,
    "role": roles,
    "subrole": subroles,
    "enabled": st.sampled_from(("true", "false", "True", "1", "maybe", "")),
    "softwarestatus": st.sampled_from(("AdminDown", "", "none")),
    "subtype": st.sampled_from(("any", "")),
    "arch": st.sampled_from(ARCHES),
    "class": st.sampled_from(CLASSES),
    "nid": st.sampled_from(("0", "1", "-1", "x", "")),
    "nid_start": st.sampled_from(("0", "2", "x")),
    "nid_end": st.sampled_from(("1", "3", "-1")),
    "partition": st.sampled_from(("p1", "p1.2", "NULL", "null", "..")),
    "group": st.sampled_from(("blue", "red", "NULL", "null", "bad%20one")),
    "stateonly": st.sampled_from(("true", "false", "x")),
    "flagonly": st.sampled_from(("true", "0")),
    "roleonly": st.sampled_from(("true", "")),
    "nidonly": st.sampled_from(("true", "1")),
    "id": xnames.filter(str.isalnum),
    "reservation_disabled": st.sampled_from(("true", "false", "x")),
    "locked": st.sampled_from(("true", "false", "x")),
}
PATCHES = {
    "StateData": some({"Flag": flags, "Force": st.booleans(), "ExtendedInfo": st.just({"Id": "1"})}, State=states),
    "FlagData": some({"ExtendedInfo": st.just({})}, Flag=flags),
    "Enabled": some({}, Enabled=st.booleans()),
    "SoftwareStatus": some({}, SoftwareStatus=st.sampled_from(("AdminDown", "", "any text"))),
    "Role": some({"SubRole": subroles}, Role=roles),
    "NID": some({}, NID=nids),
}
lists = st.sampled_from(("stateonly", "flagonly", "roleonly", "nidonly")).flatmap(
    lambda name: st.booleans().map(lambda on: (name, on))
)


def _query() -> Steps:
    body = some(
        {
            "type": st.lists(st.sampled_from(TYPES), max_size=2),
            "state": st.lists(states, max_size=2),
            "flag": st.lists(flags, max_size=2),
            "role": st.lists(roles, max_size=2),
            "enabled": st.lists(st.sampled_from(("true", "false", "x")), max_size=2),
            "partition": st.sampled_from(("p1", "NULL", "p1.2")),
            "group": st.sampled_from(("blue", "NULL")),
            "nid_start": st.lists(st.sampled_from(("0", "1")), max_size=1),
            "stateonly": st.booleans(),
            "nidonly": st.booleans(),
        },
        ComponentIDs=node_lists,
    )
    return sends("POST", f"{BASE}/Query", body)


def _by_nid() -> Steps:
    ranges = st.lists(st.sampled_from(("0-3", "1", "3-1", "a-b", "", "1-2-3")), max_size=3)
    return sends("POST", f"{BASE}/ByNID/Query", some({"stateonly": st.booleans()}, NIDRanges=ranges))


def _patches() -> Steps:
    one = st.sampled_from(sorted(PATCHES)).flatmap(
        lambda kind: sends("PATCH", under(BASE, path_xnames, f"/{kind}"), PATCHES[kind])
    )
    many = st.sampled_from(sorted(set(PATCHES) - {"NID"})).flatmap(
        lambda kind: sends(
            "PATCH",
            f"{BASE}/Bulk{kind}",
            st.builds(lambda body, ids: {"ComponentIDs": ids, **body}, PATCHES[kind], node_lists),
        )
    )
    nid = some({}, Components=st.lists(spoiled(some({}, ID=xnames, NID=nids)), max_size=3))
    return st.one_of(one, one, many, many, sends("PATCH", f"{BASE}/BulkNID", nid))


def steps() -> Steps:
    paths = queried(BASE, words)
    return st.one_of(
        plain_nodes,
        sends("POST", BASE, some({"Force": st.booleans(), "force": st.booleans()}, Components=a_list)),
        sends(
            "PUT",
            under(BASE, path_xnames),
            some({"force": st.booleans(), "Force": st.booleans()}, component=components),
        ),
        _patches(),
        _patches(),
        asks("GET", paths),
        asks("GET", paths),
        asks("GET", BASE),
        asks("GET", under(BASE, path_xnames)),
        # Of several components with one NID the real SMD returns any; the hand-written sequences ask for unique NIDs.
        asks("GET", under(f"{BASE}/ByNID", st.sampled_from(("99", "x", "1.5")))),
        path_xnames.flatmap(lambda name: asks("GET", queried(f"{BASE}/Query/{name}", words, 2))),
        _query(),
        _by_nid(),
        asks("DELETE", under(BASE, path_xnames)),
        asks("DELETE", BASE),
    )
