from __future__ import annotations

import pytest
import sqlalchemy as sa

from canton.store import schema

TABLES = {table.name: table for table in schema.metadata.sorted_tables}
KINDS = {"intent", "observation", "journal", "record"}
# Columns with what a driver saw, and when: an observation has them, and nothing else does.
OBSERVED = {"power", "seen_at"}
INSTANTS = {"at", "since", "not_before"}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_says_what_it_holds(table: sa.Table) -> None:
    assert table.info.get("holds") in KINDS


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_no_table_mixes_intent_and_observation(table: sa.Table) -> None:
    is_observation = table.info["holds"] == "observation"
    assert ("seen_at" in table.c) == is_observation
    assert is_observation or not OBSERVED & set(table.c.keys())


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_intent_does_not_refer_to_what_was_seen(table: sa.Table) -> None:
    """Observations are deleted and added; no decided value may refer to their rows."""
    for key in table.foreign_keys:
        assert key.column.table.info["holds"] != "observation"


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_instants_are_whole_microseconds(table: sa.Table) -> None:
    for column in table.columns:
        if column.name.endswith("_at") or column.name in INSTANTS:
            assert isinstance(column.type, sa.BigInteger), column
        assert not isinstance(column.type, sa.DateTime | sa.Float), column


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_every_rule_has_a_name_that_both_databases_keep(table: sa.Table) -> None:
    """PostgreSQL cuts names after 63 bytes; a rule without a name cannot be changed by a migration."""
    names = [str(rule.name) for rule in table.constraints] + [str(index.name) for index in table.indexes]
    assert table.primary_key.columns
    assert all(name != "None" and len(name) <= 63 for name in names)
