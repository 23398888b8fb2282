"""The runner of benchmarks reports values over their budget."""

from __future__ import annotations

import pytest

from bench.claims import reads_whole_table
from bench.report import Row, median, number, quantile, table


def test_a_value_at_its_budget_is_within_it() -> None:
    assert not Row("fold", 50, "ms", 50).over
    assert Row("fold", 50.01, "ms", 50).over
    assert not Row("wall", 1e9, "ms").over


def test_quantiles() -> None:
    values = [float(n) for n in range(200, 0, -1)]
    assert median(values) == 100
    assert quantile(values, 0.99) == 198
    assert quantile([7.0], 0.99) == 7


@pytest.mark.parametrize(
    ("value", "text"), [(1234.5, "1,234"), (99.94, "99.9"), (0.8849, "0.885"), (1.0, "1"), (0.0, "0")]
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_the_table_says_which_row_is_over() -> None:
    lines = table([Row("a", 2, "ms", 1), Row("b", 1, "ms", 1), Row("c", 1, "ms", note="seen only")]).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["a", "2", "ms", "1", "OVER"],
        ["b", "1", "ms", "1", "ok"],
        ["c", "1", "ms", "seen", "only"],
    ]


@pytest.mark.parametrize(
    ("line", "whole"),
    [
        ("  ->  Seq Scan on operation operation_1  (cost=0.00..5.00 rows=1 width=31)", True),
        ("  ->  Index Scan using ix_operation_due on operation operation_1  (cost=0.29..8.31)", False),
        ("  ->  CTE Scan on due  (cost=0.00..0.02 rows=1 width=88)", False),
        ("SCAN operation USING INDEX ix_operation_tenant_created", True),
        ("SCAN step", True),
        ("SCAN due", False),
        ("SEARCH operation USING INDEX ix_operation_due (due_at<?)", False),
    ],
)
def test_a_plan_that_reads_a_table_whole_is_noticed(line: str, whole: bool) -> None:
    assert reads_whole_table(line) is whole
