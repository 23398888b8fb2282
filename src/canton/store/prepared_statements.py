"""Frequent statements, compiled to SQL text once per dialect.

A step costs four statements. SQLAlchemy finds a compiled statement in its cache by walking the whole expression each
time, which takes as long as the database takes to answer; here the text is looked up by the name of the dialect.
Connections, transactions and errors are still SQLAlchemy's. Parameters that are documents must be JSON text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.dialects import sqlite
from sqlalchemy.engine import Connection, CursorResult
from sqlalchemy.sql import ClauseElement

FEW = 3


class PreparedStatement:
    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._texts: dict[str, str] = {}

    def execute(self, connection: Connection, parameters: Mapping[str, Any]) -> CursorResult[*tuple[Any, ...]]:
        return connection.exec_driver_sql(self._text(connection), dict(parameters))

    def execute_each(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
        """Execute for many rows in one round trip; for at most ``FEW`` rows one after the other, which is cheaper."""
        if len(rows) > FEW:
            connection.exec_driver_sql(self._text(connection), [dict(row) for row in rows])
        else:
            for row in rows:
                self.execute(connection, row)

    def _text(self, connection: Connection) -> str:
        name = connection.dialect.name
        if name not in self._texts:
            # SQLite's driver takes parameters by name too, but SQLAlchemy's dialect numbers them.
            dialect = sqlite.dialect(paramstyle="named") if name == "sqlite" else connection.dialect
            self._texts[name] = str(self._statement.compile(dialect=dialect))
        return self._texts[name]
