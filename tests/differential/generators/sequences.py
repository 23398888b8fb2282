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
    "smd everything": lambda: st.one_of(
        smd_components.steps(), smd_groups.steps(), smd_locks.steps(), smd_interfaces.steps(), smd_maps.steps()
    ),
    "sls": sls.steps,
    "bss": bss.steps,
}
GIVEN: dict[str, tuple[Step, ...]] = {"bss": bss.INVENTORY}


def sequences(area: str) -> st.SearchStrategy[Sequence]:
    """Three lists in a row: Hypothesis makes one of them short, and a shrunk sequence may still lose all but one step."""
    steps = AREAS[area]()
    some = st.lists(steps, max_size=20)
    return st.builds(
        lambda first, then, last: Sequence(f"random {area}", *first, *then, *last, given=GIVEN.get(area, ())),
        st.lists(steps, min_size=1, max_size=20),
        some,
        some,
    )
