"""Properties of the fabric for any port states: symmetry, and traffic that never passes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from csm_emulator.machine.fabric.ports import EDGE, PortState
from csm_emulator.machine.fabric.reachability import ETHERNET, IP, VNI, Prober, ProbeRequest
from machine.fabric.network import DOWNLINK, UPLINK, Network

BLUE, GREEN = (10, 11, 12), (20, 21, 22)
SETTINGS = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TAGS = st.one_of(st.none(), st.sampled_from([0, 1, *BLUE, *GREEN, 4095]))


@pytest.fixture(scope="module")
def shared() -> Iterator[Network]:
    with TemporaryDirectory() as folder:
        network = Network(Path(folder) / "state")
        yield network
        network.close()


def states(vlans: tuple[int, ...]) -> st.SearchStrategy[PortState]:
    return st.builds(
        PortState,
        online=st.booleans(),
        native=st.one_of(st.none(), st.sampled_from(vlans)),
        allowed=st.frozensets(st.sampled_from(vlans)),
        untagged=st.booleans(),
        vnis=st.one_of(st.none(), st.just(((vlans[0] * 100, vlans[0] * 100 + 99),))),
        speed=st.just("BS_200G"),
    )


def put(network: Network, states: dict[str, PortState]) -> None:
    for nic in network.nics:
        state = states.get(nic, EDGE)
        names = ("online", "native", "allowed", "untagged", "vnis")
        network.configure(nic, **{name: getattr(state, name) for name in names})


@SETTINGS
@given(
    blue=st.lists(states(BLUE), min_size=4, max_size=4), green=st.lists(states(GREEN), min_size=4, max_size=4), tag=TAGS
)
def test_groups_with_no_vlan_in_common_never_reach(
    shared: Network, blue: list[PortState], green: list[PortState], tag: int | None
) -> None:
    ours, theirs = shared.nics[::2], shared.nics[1::2]
    put(shared, dict(zip(ours, blue, strict=True)) | dict(zip(theirs, green, strict=True)))
    assert shared.crossing(ours, theirs, tag) == set()
    assert shared.crossing(theirs, ours, tag) == set()
    for nic in ours:
        assert not shared.heard_by(nic, tag) & set(theirs)


@SETTINGS
@given(state=states(BLUE), tag=TAGS, linked=st.booleans())
def test_between_equal_ports_reaching_is_symmetric(
    shared: Network, state: PortState, tag: int | None, linked: bool
) -> None:
    shared.fabric.configure(DOWNLINK, "test", online=linked)
    put(shared, dict.fromkeys(shared.nics, state))
    try:
        for one in shared.nics:
            for target in shared.nics:
                assert shared.reaches(one, target, tag) == shared.reaches(target, one, tag)
    finally:
        shared.fabric.configure(DOWNLINK, "test", online=True)


@SETTINGS
@given(port_states=st.lists(states((1, 10, 20)), min_size=8, max_size=8), tag=TAGS)
def test_a_broadcast_reaches_the_same_nics_as_single_frames(
    shared: Network, port_states: list[PortState], tag: int | None
) -> None:
    put(shared, dict(zip(shared.nics, port_states, strict=True)))
    for source in shared.nics:
        receivers = shared.fabric.broadcast(source, tag)
        walks = {nic: shared.walk(source, nic, tag) for nic in shared.nics}
        assert receivers == {nic: walk.egress_tagging for nic, walk in walks.items() if walk.reached}


@SETTINGS
@given(
    port_states=st.lists(states((1, 10, 20)), min_size=1, max_size=3).flatmap(
        lambda few: st.lists(st.sampled_from(few), min_size=8, max_size=8)
    ),
    question=st.one_of(
        st.builds(ProbeRequest, st.sampled_from([ETHERNET, IP]), TAGS, st.none()),
        st.builds(ProbeRequest, st.just(VNI), st.none(), st.sampled_from([50, 100, 199, 1000, 2000])),
    ),
    narrow=st.booleans(),
    members=st.tuples(st.sets(st.integers(0, 7), min_size=1), st.sets(st.integers(0, 7), min_size=1)),
)
def test_groups_count_what_pairs_count(
    shared: Network,
    port_states: list[PortState],
    question: ProbeRequest,
    narrow: bool,
    members: tuple[set[int], set[int]],
) -> None:
    """Counting by classes of equal ports gives the same numbers faster, also for groups that overlap."""
    put(shared, dict(zip(shared.nics, port_states, strict=True)))
    shared.fabric.configure(UPLINK, "test", allowed=frozenset({10}) if narrow else None)
    groups = {str(number): [shared.nics[place] for place in sorted(places)] for number, places in enumerate(members)}
    prober = Prober(shared.machine, question)
    for pair in prober.between(groups)["between"]:
        counts = prober.pairs(groups[pair["from"]], groups[pair["to"]])["counts"]
        assert (pair["pairs"], pair["reached"]) == (counts["pairs"], counts["reached"])
        assert (pair["reaching"] is None) == (counts["reached"] == 0)
        assert (pair["stopped"] is None) == (counts["reached"] == counts["pairs"])
        assert pair["reaching"] is None or pair["reaching"]["reached"]
        assert pair["stopped"] is None or not pair["stopped"]["reached"]
