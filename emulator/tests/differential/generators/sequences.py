"""Random sequences by area."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from differential.generators import (
    bss,
    sls,
    smd_components,
    smd_endpoints,
    smd_groups,
    smd_hardware,
    smd_interfaces,
    smd_locks,
    smd_maps,
)
from differential.generators.values import Steps
from differential.sequence import Sequence, Step

AREAS: dict[str, Callable[[], Steps]] = {
    "smd components": smd_components.steps,
    "smd groups": smd_groups.steps,
    "smd locks": smd_locks.steps,
    "smd interfaces": smd_interfaces.steps,
    "smd endpoints": smd_endpoints.steps,
    "smd maps": smd_maps.steps,
    "smd hardware": smd_hardware.steps,
    "smd everything": lambda: st.one_of(
        smd_components.steps(), smd_groups.steps(), smd_locks.steps(), smd_interfaces.steps(), smd_maps.steps()
    ),
    "sls": sls.steps,
    "bss": bss.steps,
}
# With these records most requests find something.
OPENINGS: dict[str, Steps] = {
    "smd components": smd_components.plain_nodes,
    "smd groups": st.one_of(smd_components.plain_nodes, smd_groups.creations()),
    "smd locks": smd_components.plain_nodes,
    "smd interfaces": smd_interfaces.creations(),
    "smd endpoints": smd_endpoints.creations(),
    "smd maps": smd_maps.creations(),
    "smd hardware": smd_hardware.creations(),
    "smd everything": st.one_of(smd_components.plain_nodes, smd_groups.creations(), smd_interfaces.creations()),
    "sls": sls.creations(),
    "bss": bss.creations(),
}
PREREQUISITES: dict[str, tuple[Step, ...]] = {"bss": bss.INVENTORY}


def sequences(area: str) -> st.SearchStrategy[Sequence]:
    """Two lists in a row: Hypothesis makes one of them short, and a shrunk sequence may still lose all but one step."""
    steps = AREAS[area]()
    opening = st.lists(OPENINGS[area], max_size=4) if area in OPENINGS else st.just([])
    return st.builds(
        lambda first, then, last: Sequence(
            f"random {area}", *first, *then, *last, prerequisites=PREREQUISITES.get(area, ())
        ),
        opening,
        st.lists(steps, min_size=1, max_size=20),
        st.lists(steps, max_size=20),
    )
