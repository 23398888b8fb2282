"""Every operation of HPE's files exists, or answers 501 with the reason."""

from __future__ import annotations

import re

import pytest

from conformance import operations_table
from conformance.contracts import ABSENT, here
from conformance.spec_bugs import NOT_SERVED

pytestmark = pytest.mark.skipif(not here(), reason=ABSENT)


def test_every_operation_exists_or_is_501_with_a_reason() -> None:
    missing = [row.operation for row in operations_table.rows() if row.support == operations_table.MISSING]
    assert not missing


def test_at_most_one_in_twenty_is_left_out() -> None:
    rows = list(operations_table.rows())
    left_out = [row for row in rows if row.support == operations_table.UNSUPPORTED]
    assert len(left_out) <= len(rows) / 20


def test_what_the_real_services_lack_is_still_lacking_here() -> None:
    absent = [row.operation for row in operations_table.rows() if row.support == operations_table.ABSENT_THERE_TOO]
    labels = [(operation.service, f"{operation.method} {operation.path}") for operation in absent]
    for service, patterns in NOT_SERVED.items():
        for pattern in patterns:
            assert any(owner == service and re.fullmatch(pattern, label) for owner, label in labels), pattern


def test_the_page_in_the_docs_is_what_is_served() -> None:
    assert operations_table.PAGE.read_text() == operations_table.page(), "run: make conformance"
