"""Components as clients read and change them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.smd.hsm_client import COMPONENTS, Hsm

N0, N1, N2 = "x0c0s0b0n0", "x0c0s0b0n1", "x0c0s1b0n0"
STARTS = {
    "Off": {"Off", "On", "Standby", "Halt", "Ready"},
    "On": {"On", "Off", "Standby", "Halt"},
    "Standby": {"Standby", "Ready"},
    "Halt": {"Halt", "Ready"},
    "Ready": {"Ready", "On", "Off", "Standby", "Halt"},
}
STATES = ("Unknown", "Empty", "Populated", "Off", "On", "Standby", "Halt", "Ready")


def test_a_component_comes_back_in_smds_order_with_its_defaults(hsm: Hsm) -> None:
    hsm.make("X0C0S00B0N0", Class="mountain", SoftwareStatus="<a & b>", Locked=True)
    reply = hsm.ask("GET", f"{COMPONENTS}/{N0}")
    assert reply.body == (
        b'{"ID":"x0c0s0b0n0","Type":"Node","State":"Off","Flag":"OK","Enabled":true,'
        b'"SoftwareStatus":"\\u003ca \\u0026 b\\u003e","Role":"Compute","NID":16384,"Class":"Mountain","Locked":true}\n'
    )
    assert hsm.ask("GET", COMPONENTS).body == b'{"Components":[' + reply.body[:-1] + b"]}\n"


def test_an_empty_inventory_is_an_empty_list(hsm: Hsm) -> None:
    assert hsm.ask("GET", COMPONENTS).body == b'{"Components":[]}\n'
    assert hsm.refusal("GET", f"{COMPONENTS}/{N0}") == (404, "no such xname.")
    assert hsm.refusal("DELETE", COMPONENTS) == (404, "no entries to delete")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("type=node", [N0, N1, N2]),
        ("type=!Node", ["x0c0s0b0"]),
        ("type=Node&type=NodeBMC&state=Ready", [N1, "x0c0s0b0"]),
        ("Type=Node&state=!ready", [N0, N2]),
        ("id=X0C0S0B0N0&id=x9", [N0]),
        ("id=!x0c0s0b0n0", [N1, "x0c0s0b0", N2]),
        ("nid_start=6", [N1, N2]),
        ("nid_start=5&nid_end=5&nid_start=7&nid_end=7", [N0, N2]),
        ("nid_end=5&nid=7", [N0, N2]),
        ("nid=", ["x0c0s0b0"]),
        ("enabled=f", [N2]),
        ("role=!Compute", ["x0c0s0b0"]),
        ("group=blue", [N0, N1]),
        ("group=blue&group=red", [N0, N1, N2]),
        ("group=NULL", ["x0c0s0b0"]),
        ("partition=p1", [N1]),
        ("partition=NULL", [N0, "x0c0s0b0", N2]),
        ("group=blue&partition=p1", [N1]),
        ("group=NULL&partition=NULL", ["x0c0s0b0"]),
        ("nonsense=1", [N0, N1, "x0c0s0b0", N2]),
    ],
)
def test_filters(hsm: Hsm, query: str, expected: list[str]) -> None:
    hsm.make(N0, NID=5)
    hsm.make(N1, NID=6, state="Ready")
    hsm.make(N2, NID=7, Enabled=False)
    hsm.make("x0c0s0b0", state="Ready")
    hsm.do("POST", "/groups", {"label": "blue", "members": {"ids": [N0, N1]}})
    hsm.do("POST", "/groups", {"label": "red", "members": {"ids": [N2]}})
    hsm.do("POST", "/partitions", {"name": "p1", "members": {"ids": [N1]}})
    assert hsm.xnames(query) == sorted(expected)


@pytest.mark.parametrize(
    ("query", "status", "detail"),
    [
        ("type=Nonsense", 400, "bad query param: Argument was not a valid HMS Type"),
        ("state=", 400, "bad query param: Argument was not a valid HMS State"),
        ("id=foo", 400, "bad query param: Argument was not a valid xname ID"),
        ("nid=-5", 400, "bad query param: a required argument was not an integer"),
        ("nid=99999999999999999999", 500, "failed to query DB."),
        ("locked=perhaps", 500, "failed to query DB."),
        ("group=BLUE", 400, "bad query param: no such group"),
        (
            "group=a&group=b&partition=p1",
            400,
            "bad query param: group and partition cannot both have more than one value",
        ),
        ("type=a;b", 500, "failed to decode query parameters."),
    ],
)
def test_filters_that_smd_does_not_take(hsm: Hsm, query: str, status: int, detail: str) -> None:
    assert hsm.refusal("GET", f"{COMPONENTS}?{query}") == (status, detail)


@pytest.mark.parametrize(
    ("only", "fields"),
    [
        ("stateonly=true", {"ID", "Type", "State", "Flag"}),
        ("flagonly=1", {"ID", "Type", "Flag"}),
        ("roleonly=T", {"ID", "Type", "Role"}),
        ("nidonly=True", {"ID", "Type", "NID"}),
        ("flagonly=true&stateonly=true", {"ID", "Type", "State", "Flag"}),
    ],
)
def test_some_fields_only(hsm: Hsm, only: str, fields: set[str]) -> None:
    hsm.make(N0, NID=5, Arch="ARM")
    assert set(hsm.read(f"{COMPONENTS}?{only}")["Components"][0]) == fields


def test_what_lies_under_a_component_is_found_by_type_only(hsm: Hsm) -> None:
    hsm.make(N0, N2, "x0c0s10b0n0", "x0c0s0b0")
    under = f"{COMPONENTS}/Query/x0c0s1"
    assert hsm.read(under)["Components"] == []
    assert [component["ID"] for component in hsm.read(f"{under}?type=Node")["Components"]] == [N2]
    assert len(hsm.read(f"{COMPONENTS}/Query/s0")["Components"]) == 4
    components = hsm.do("POST", f"{COMPONENTS}/Query", {"ComponentIDs": ["x0c0s0", "x0c0s10"], "type": ["Node"]}).json()
    assert {component["ID"] for component in components["Components"]} == {N0, "x0c0s10b0n0"}


def test_several_may_have_the_same_nid_and_none_is_lost(hsm: Hsm) -> None:
    hsm.make(N0, N1, NID=7)
    assert hsm.read(f"{COMPONENTS}/ByNID/7")["ID"] == N0
    hsm.do("PATCH", f"{COMPONENTS}/{N0}/NID", {"NID": 8})
    assert hsm.read(f"{COMPONENTS}/ByNID/7")["ID"] == N1
    assert hsm.read(f"{COMPONENTS}/ByNID/8")["ID"] == N0
    hsm.do("PATCH", f"{COMPONENTS}/BulkNID", {"Components": [{"ID": N0, "NID": -1}, {"ID": N1, "NID": "9"}]})
    assert hsm.refusal("GET", f"{COMPONENTS}/ByNID/8") == (404, "no such NID.")
    assert "NID" not in hsm.read(f"{COMPONENTS}/{N0}")
    query = {"NIDRanges": ["1-9"], "nidonly": True}
    assert hsm.do("POST", f"{COMPONENTS}/ByNID/Query", query).json()["Components"] == [
        {"ID": N1, "Type": "Node", "NID": 9}
    ]


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("bulk", [False, True])
def test_which_state_follows_which(hsm: Hsm, bulk: bool, force: bool) -> None:
    hsm.make(N0, N1)
    path, ids = (
        (f"{COMPONENTS}/BulkStateData", {"ComponentIDs": [N0, N1]}) if bulk else (f"{COMPONENTS}/{N0}/StateData", {})
    )
    for state_before in STATES:
        for state_after in STATES:
            hsm.do("PATCH", path, {**ids, "State": state_before, "Force": True})
            reply = hsm.ask(
                "PATCH", path, {**ids, "State": state_after, "Force": force, "ExtendedInfo": {"Message": "why"}}
            )
            allowed = force or state_before in STARTS.get(state_after, ())
            assert hsm.state(N0) == f"{state_after if allowed else state_before}/OK"
            assert reply.status == (204 if force or state_after in STARTS else 400)
            if reply.status == 400:
                assert reply.json()["detail"] == "operation not allowed and not forced."


def test_a_locked_flag_stays_locked(hsm: Hsm) -> None:
    hsm.make(N0)
    hsm.do("PATCH", f"{COMPONENTS}/{N0}/FlagOnly", {"Flag": "Locked"})
    hsm.do("PATCH", f"{COMPONENTS}/{N0}/StateData", {"State": "On", "Flag": "Warning"})
    assert hsm.state(N0) == "On/Locked"


def test_a_late_heartbeat_makes_no_node_ready(hsm: Hsm) -> None:
    hsm.make(N0)
    hsm.do("PATCH", f"{COMPONENTS}/{N0}/StateData", {"State": "Ready", "Flag": "Warning", "Force": True})
    assert hsm.state(N0) == "Off/OK"


@pytest.mark.parametrize(
    ("field", "body"),
    [
        ("Enabled", {"Enabled": False}),
        ("SoftwareStatus", {"SoftwareStatus": "AdminDown"}),
        ("Role", {"Role": "Application", "SubRole": "UAN"}),
        ("FlagOnly", {"Flag": "Alert"}),
    ],
)
def test_single_fields_one_by_one_and_in_bulk(hsm: Hsm, field: str, body: dict[str, Any]) -> None:
    hsm.make(N0, N1, N2)
    assert hsm.do("PATCH", f"{COMPONENTS}/{N0}/{field}", body).status == 204
    assert hsm.do("PATCH", f"{COMPONENTS}/Bulk{field}", {**body, "ComponentIDs": [N1.upper(), "x9"]}).status == 204
    for xname, changed in ((N0, True), (N1, True), (N2, False)):
        component = hsm.read(f"{COMPONENTS}/{xname}")
        assert all((component.get(name) == value) is changed for name, value in body.items())


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        (f"{N0}/StateData", {}, 400, "Missing State"),
        (f"{N0}/StateData", {"ID": N1, "State": "On"}, 400, "ID in URL and PATCH body do not match"),
        ("foo/StateData", {"State": "On"}, 400, "invalid xname ID"),
        ("BulkStateData", {"State": "On"}, 400, "Missing IDs"),
        ("BulkEnabled", {"ComponentIDs": [N0]}, 400, "Missing Enabled field"),
        (f"{N0}/SoftwareStatus", {"SoftwareStatus": "a" * 33}, 400, f"operation 'SoftwareStatus' failed for {N0}"),
        (
            "BulkSoftwareStatus",
            {"ComponentIDs": [N0], "SoftwareStatus": "\0"},
            400,
            "operation 'Bulk SoftwareStatus Update' failed",
        ),
        (f"{N0}/Role", {"Role": "Cook"}, 400, "a required argument did not match any valid input"),
        (
            "BulkStateData",
            {"ComponentIDs": "x"},
            500,
            "error decoding JSON json: cannot unmarshal string into Go struct field "
            "CompUpdate.ComponentIDs of type []string",
        ),
        (f"{N0}/NID", b"{", 500, "error decoding JSON unexpected end of JSON input"),
    ],
)
def test_patches_that_smd_does_not_take(hsm: Hsm, path: str, body: Any, status: int, detail: str) -> None:
    hsm.make(N0)
    body_before = hsm.ask("GET", COMPONENTS).body
    assert hsm.refusal("PATCH", f"{COMPONENTS}/{path}", body) == (status, detail)
    assert hsm.ask("GET", COMPONENTS).body == body_before


def test_what_is_there_is_written_over_by_force_only(hsm: Hsm) -> None:
    hsm.make(N0, Role="Service", Arch="ARM", Subtype="odd")
    put = {"Component": {"State": "Ready", "Role": "Compute", "NID": 1}}
    hsm.do("PUT", f"{COMPONENTS}/{N0}", put)
    assert hsm.state(N0) == "Off/OK"
    hsm.do("PUT", f"{COMPONENTS}/{N0}", {**put, "Force": True})
    component = hsm.read(f"{COMPONENTS}/{N0}")
    assert (component["State"], component["Role"], component["NID"]) == ("Ready", "Service", 16384)
    assert not component.keys() & {"Arch", "Subtype"}


def test_a_bad_one_among_good_ones_changes_nothing(hsm: Hsm) -> None:
    body = {"Components": [{"ID": N0, "State": "On"}, {"ID": N1, "State": "Broken"}]}
    assert hsm.refusal("POST", COMPONENTS, body) == (400, "couldn't validate components: state 'Broken' is invalid")
    assert hsm.xnames() == []


def test_a_deleted_component_leaves_its_groups(hsm: Hsm) -> None:
    hsm.make(N0, N1)
    hsm.do("POST", "/groups", {"label": "blue", "members": {"ids": [N0, N1]}})
    hsm.do("POST", "/partitions", {"name": "p1", "members": {"ids": [N0]}})
    assert hsm.do("DELETE", f"{COMPONENTS}/{N0}").json() == {"code": 0, "message": "deleted 1 entry"}
    assert hsm.read("/groups/blue/members") == {"ids": [N1]}
    assert hsm.read("/partitions/p1/members") == {"ids": []}
    assert hsm.do("DELETE", COMPONENTS).json()["message"] == "deleted 1 entries"
    assert hsm.read("/groups/blue/members") == {"ids": []}


def test_state_is_kept_over_a_restart(hsm: Hsm) -> None:
    hsm.make(N0, NID=5)
    rows = {(table, key): value for table, key, value in hsm.site.tables.take_changes()}
    assert '"NID": 5' in (rows["smd.components", N0] or "")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from([N0, "On", "p1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=5)
            | st.sampled_from(
                ["Components", "ComponentIDs", "ID", "State", "NID", "label", "name", "members", "ids", "tags"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
WRITES = (
    ("POST", COMPONENTS),
    ("PUT", f"{COMPONENTS}/{N0}"),
    ("PATCH", f"{COMPONENTS}/BulkStateData"),
    ("PATCH", f"{COMPONENTS}/BulkNID"),
    ("PATCH", f"{COMPONENTS}/{N0}/Role"),
    ("POST", f"{COMPONENTS}/Query"),
    ("POST", f"{COMPONENTS}/ByNID/Query"),
    ("POST", "/groups"),
    ("PATCH", "/groups/blue"),
    ("POST", "/groups/blue/members"),
    ("POST", "/partitions"),
    ("PATCH", "/partitions/p1"),
    ("POST", "/Defaults/NodeMaps"),
    ("PUT", f"/Defaults/NodeMaps/{N0}"),
)


def test_garbage_has_the_errors_of_smd(hsm: Hsm) -> None:
    hsm.make(N0)
    hsm.do("POST", "/groups", {"label": "blue"})

    @settings(max_examples=150, deadline=None, derandomize=True, database=None)
    @given(st.sampled_from(WRITES), JSON | st.binary(max_size=20))
    def answered(where: tuple[str, str], body: Any) -> None:
        reply = hsm.ask(*where, body)
        assert reply.status in (200, 201, 204, 400, 404, 409, 500)
        assert reply.ok or reply.media == "application/problem+json"
        for component in hsm.read(COMPONENTS)["Components"]:
            assert component["Type"]
            assert component["State"] in STATES

    answered()
