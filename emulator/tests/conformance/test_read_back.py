"""An object that is written and read back changed is a failure, unless the real service is known to change it."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conformance import (
    read_back_bos,
    read_back_cfs,
    read_back_fabric,
    read_back_ims,
    read_back_services,
    read_back_smd,
    read_back_tapms,
)
from conformance.read_back import Row, check_row
from conftest import Open

TABLES = (
    read_back_smd,
    read_back_services,
    read_back_bos,
    read_back_cfs,
    read_back_ims,
    read_back_tapms,
    read_back_fabric,
)
ROWS = tuple(row for table in TABLES for row in table.ROWS)
EXAMPLES = int(os.environ.get("CANTON_TEST_EXAMPLES", "50"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.service}-{row.name}")
def test_what_is_written_shows_elsewhere(row: Row, open_machine: Open) -> None:
    site = open_machine("tiny")

    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(thing=row.things, _=st.none())
    def check(thing: Any, _: None) -> None:
        check_row(row, site, thing)

    check()
