"""Dumps of real SLS services become machines, or are refused with the error that they have."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from csm_emulator.errors import InvalidMachine
from csm_emulator.machine.sls_import.dump import load_sls
from specs import SPECS

SAMPLES = SPECS / "samples"
# Numbers of compute nodes and of all nodes in each sample, counted by hand in the files.
LOADED = {
    "EX2000_River": (65, 77),
    "EX2500_Mixed_Cabinet": (33, 45),
    "EX2500_River": (193, 205),
    "EX3000_River": (257, 269),
    "EX4000_River": (257, 269),
    "Hill_River": (65, 77),
    "Mountain_River": (257, 269),
    "River": (1, 13),
    "antero_mountain": (4, 4),
    "no_hardware": (0, 0),
    "one_of_each_blade": (21, 22),
    "small_mountain": (4, 4),
}
REFUSED = {"antero_mountain_wrong_sls": "x1000c0s0 is an EX4252"}


def sample(name: str) -> Path:
    path = SAMPLES / f"{name}.json"
    if not path.exists():
        pytest.skip(f"LEFT OUT: {path} is not there, HPE's SLS samples were NOT loaded")
    return path


def dump(**hardware: dict[str, Any]) -> dict[str, Any]:
    """A dump with two nodes of a Mountain blade and the given entries."""
    parts = {
        "x1000": {"Xname": "x1000", "Class": "Mountain"},
        "x1000c0s0b0n0": {
            "Xname": "x1000c0s0b0n0",
            "Class": "Mountain",
            "ExtraProperties": {"NID": 1000, "Role": "Compute"},
        },
        "x1000c0s0b1n0": {
            "Xname": "x1000c0s0b1n0",
            "Class": "Mountain",
            "ExtraProperties": {"NID": 1001, "Role": "Compute"},
        },
    }
    return {"Hardware": parts | hardware, "Networks": {}}


def test_every_sample_is_spoken_for() -> None:
    sample("River")
    assert {path.stem for path in SAMPLES.glob("*.json")} == {*LOADED, *REFUSED}


@pytest.mark.parametrize("name", LOADED)
def test_a_sample_loads(name: str) -> None:
    topology = load_sls(sample(name))
    roles = Counter(place.role for place in topology.places.values())
    assert (roles["Compute"], len(topology.places)) == LOADED[name]
    assert topology.name == name
    assert len({nic.mac for nic in topology.nics}) == len({nic.address for nic in topology.nics}) == len(topology.nics)


@pytest.mark.parametrize("name", LOADED)
def test_sls_begins_with_what_was_imported(name: str) -> None:
    path = sample(name)
    theirs = json.loads(path.read_text())["Hardware"].values()
    ours: Any = load_sls(path).sls["Hardware"]
    assert {entry["Xname"]: entry.get("ExtraProperties") for entry in theirs} == {
        xname: entry.get("ExtraProperties") for xname, entry in ours.items()
    }


@pytest.mark.parametrize(("name", "reason"), REFUSED.items())
def test_a_contradictory_sample_is_refused(name: str, reason: str) -> None:
    with pytest.raises(InvalidMachine, match=reason):
        load_sls(sample(name))


def test_the_blades_of_a_sample_are_those_that_it_names() -> None:
    topology = load_sls(sample("one_of_each_blade"))
    models = Counter(part.model.name for part in topology.parts.values() if part.model)
    assert models == {
        "EX425": 4,
        "EX420": 4,
        "EX235a": 2,
        "EX235n": 2,
        "Intel": 4,
        "Gigabyte": 4,
        "DL325": 1,
        "XL675d": 1,
    }
    assert "guessed" not in topology.about
    # The keys of the dump differ; SLS uses the names inside the entries.
    assert "x1000c0s3b0n1" in topology.places
    assert "x1000c0r3" in topology.parts


def test_guesses_are_named() -> None:
    topology = load_sls(dump())
    assert "guessed: EX235a" in topology.about
    blade = dump(x1000c0s0={"Xname": "x1000c0s0", "Class": "Mountain", "ExtraProperties": {"@rie.mockup": "EX254n"}})
    blade_topology = load_sls(blade)
    assert "guessed" not in blade_topology.about
    assert {part.model.arch for part in blade_topology.parts.values() if part.model} == {"ARM"}


def test_a_node_without_a_nid_has_the_one_that_hsm_invents() -> None:
    topology = load_sls(dump(extra={"Xname": "x9000c1s4b0n2", "Class": "Hill"}))
    assert topology.places["x9000c1s4b0n2"].nid == 147474562
    assert topology.places["x1000c0s0b0n0"].nid == 1000


def test_cabinets_have_the_networks_that_the_dump_gives_them() -> None:
    networks = {"cn": {"NMN": {"CIDR": "10.9.8.0/22"}, "HMN": {"CIDR": "10.7.0.0/22"}}}
    topology = load_sls(dump(x1000={"Xname": "x1000", "Class": "Mountain", "ExtraProperties": {"Networks": networks}}))
    (node,) = [nic for nic in topology.nics if nic.xname == "x1000c0s0b0n0i0"]
    (bmc,) = [nic for nic in topology.nics if nic.xname == "x1000c0s0b0"]
    assert node.address == "10.9.8.10"
    assert bmc.address.startswith("10.7.0.")


def test_management_nodes_are_up_and_the_others_are_off() -> None:
    topology = load_sls(sample("River"))
    assert {topology.places[node].role for node in topology.running} == {"Management", "Application"}


def test_every_nic_of_a_chassis_finds_a_port() -> None:
    topology = load_sls(sample("EX4000_River"))
    cabled = {cable.end for cable in topology.cables}
    assert all(nic.xname in cabled for nic in topology.nics if nic.network == "HSN" and nic.xname.startswith("x1000"))


@pytest.mark.parametrize(
    ("hardware", "reason"),
    [
        ({"x2": {"Xname": "x2"}}, "x2 has no valid Class"),
        ({"x2": {"Xname": "x2", "Class": "Lake"}}, "x2 has no valid Class"),
        ({"x2": []}, "x2 is not an object"),
        ({"nonsense": {"Class": "River"}}, "nonsense has no valid Xname"),
        ({"x2": {"Xname": 7, "Class": "River"}}, "x2 has no valid Xname"),
        ({"x2": {"Xname": "x1000", "Class": "River"}}, "x1000 occurs twice"),
        ({"all": {"Class": "River"}}, "all is not hardware"),
        ({"p1.2": {"Class": "River"}}, "p1.2 is not hardware"),
        ({"x2": {"Xname": "x2", "Class": "River", "ExtraProperties": 3}}, "ExtraProperties that are not an object"),
        (
            {"n": {"Xname": "x1000c0s1b0n0", "Class": "Mountain", "ExtraProperties": {"NID": 1000}}},
            "both have NID 1000",
        ),
        (
            {"n": {"Xname": "x1000c0s1b0n0", "Class": "Mountain", "ExtraProperties": {"NID": "1"}}},
            "a NID that is not a number",
        ),
        (
            {"n": {"Xname": "x1000c0s1b0n0", "Class": "Mountain", "ExtraProperties": {"NID": True}}},
            "a NID that is not a number",
        ),
        (
            {"n": {"Xname": "x1000c0s1b0n0", "Class": "Mountain", "ExtraProperties": {"Role": {}}}},
            "a Role that is not a string",
        ),
        (
            {"n": {"Xname": "x1000c0s1b0n0", "Class": "Mountain", "ExtraProperties": {"Aliases": "a"}}},
            "not a list of strings",
        ),
        ({"n": {"Xname": "x1000c0s1b0n0", "Class": "River"}}, "classes Mountain and River"),
        ({"n": {"Xname": "x1000c0s9b0n0", "Class": "Mountain"}}, "has no slot 9"),
        (
            {
                "x1000": {
                    "Xname": "x1000",
                    "Class": "Mountain",
                    "ExtraProperties": {"Networks": {"cn": {"NMN": {"CIDR": "ten"}}}},
                }
            },
            "not an IPv4 network: 'ten'",
        ),
        (
            {
                "x1000": {
                    "Xname": "x1000",
                    "Class": "Mountain",
                    "ExtraProperties": {"Networks": {"cn": {"HMN": {"CIDR": "10.0.0.0/24"}}}},
                }
            },
            "a cabinet needs a /22",
        ),
    ],
)
def test_mistakes_are_named(hardware: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidMachine, match=reason) as refusal:
        load_sls(dump(**hardware))
    assert "Correct the dump" in str(refusal.value)


@pytest.mark.parametrize(
    ("network", "reason"),
    [
        (None, "network NMN is not an object"),
        ({"Name": "HMN", "Type": "ethernet"}, "has the Name 'HMN'"),
        ({"Name": "NMN"}, "has no valid Type"),
        ({"Name": "NMN", "Type": "token-ring"}, "has no valid Type"),
        ({"Name": "NMN", "Type": "ethernet", "IPRanges": ["ten"]}, "IPRanges that are not a list of networks"),
        ({"Name": "NMN", "Type": "ethernet", "IPRanges": "10.0.0.0/8"}, "IPRanges that are not a list of networks"),
        ({"Name": "NMN", "Type": "ethernet", "ExtraProperties": []}, "ExtraProperties that are not an object"),
    ],
)
def test_wrong_networks_are_named(network: Any, reason: str) -> None:
    with pytest.raises(InvalidMachine, match=reason):
        load_sls(dump() | {"Networks": {"NMN": network}})


def test_many_mistakes_are_counted() -> None:
    with pytest.raises(InvalidMachine, match="and 40 more"):
        load_sls(dump(**{f"bad{number}": {} for number in range(50)}))


@pytest.mark.parametrize(
    "data",
    [[], "", None, {"a": 1}, {"Hardware": {}}, {"Hardware": [], "Networks": {}}, {"Hardware": {}, "Networks": 3}],
)
def test_what_is_no_dump_is_refused(data: Any, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidMachine, match="SLS dump"):
        load_sls(path)


@pytest.mark.parametrize("text", [b"", b"{", b"\xff\xfe\x00", b"[" * 100_000])
def test_what_is_no_json_is_refused(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "dump.json"
    path.write_bytes(text)
    with pytest.raises(InvalidMachine, match="is not JSON"):
        load_sls(path)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidMachine, match="cannot be read"):
        load_sls(tmp_path / "nowhere.json")
    with pytest.raises(InvalidMachine, match="cannot be read"):
        load_sls(tmp_path)


_LIQUID = ["x1000", "x1000c0", "x1000c0b0", "x1000c0s1", "x1000c0s1b0n0", "x1000c0s1b1n7", "x1000c0r3", "x1000c0r64b0"]
_RACK = ["x3000", "x3000m0", "x3000c0s1b0n0", "x3000c0s4b2n0", "x3000c0w31", "x3000c0w31j4", "x3000c0h33s1"]
_XNAMES = st.sampled_from([*_LIQUID, *_RACK, "d0", "d0w1", "s0", "sms1"])
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_EXTRA = st.fixed_dictionaries(
    {},
    optional={
        "NID": st.integers(0, 500) | st.none(),
        "Role": st.sampled_from(["Compute", "Management", "Application", "", None]),
        "SubRole": st.text(max_size=3) | st.none(),
        "Aliases": st.lists(st.text(max_size=4), max_size=2) | st.none(),
        "Networks": _JSON,
        "Model": _JSON,
        "@rie.mockup": st.sampled_from(["EX425", "EX4252", "Gigabyte", "unheard"]) | _JSON,
    },
)
_ENTRIES = st.fixed_dictionaries({}, optional={"ExtraProperties": _EXTRA})
_CLASSES = st.fixed_dictionaries({"x1": st.sampled_from(["Mountain", "Hill", "River"]), "x3": st.just("River")})


@st.composite
def _hardware(draw: st.DrawFn) -> dict[str, Any]:
    classes = draw(_CLASSES)
    entries = draw(st.dictionaries(_XNAMES, _ENTRIES, max_size=8))
    return {xname: {"Class": classes.get(xname[:2], "Mountain"), **entry} for xname, entry in entries.items()}


_NETWORKS = st.dictionaries(
    st.text(max_size=3),
    st.fixed_dictionaries({"Type": st.just("ethernet")}, optional={"ExtraProperties": _JSON, "IPRanges": _JSON}),
    max_size=1,
)


@settings(max_examples=150, deadline=None)
@given(_hardware(), _NETWORKS)
def test_any_dump_becomes_a_machine_or_is_refused(hardware: dict[str, Any], networks: dict[str, Any]) -> None:
    given_dump = {"Hardware": hardware, "Networks": networks}
    dump_before = copy.deepcopy(given_dump)
    try:
        topology = load_sls(given_dump)
    except InvalidMachine:
        return
    assert given_dump == dump_before
    assert set(topology.places) == {part.xname for part in topology.parts.values() if part.type == "Node"}
    assert len({nic.mac for nic in topology.nics}) == len(topology.nics)
    assert len({nic.address for nic in topology.nics}) == len(topology.nics)
