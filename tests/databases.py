"""Fresh databases for tests, of both kinds.

Every test that asks for one gets its own, copied from a template that was migrated once per session. Those on
PostgreSQL run when ``CANTON_TEST_POSTGRESQL`` holds the address of a server where databases may be created;
``.ci/postgres start DIR`` starts a private one and prints the address.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
from psycopg import sql
from sqlalchemy.engine import URL, make_url

from canton.store.database import open_database
from canton.store.maintenance import migrate

SERVER = "CANTON_TEST_POSTGRESQL"


class SqliteDatabases:
    """Files in folders that pytest removes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def empty(self) -> Iterator[str]:
        yield f"sqlite:///{self.folder / f'{uuid4().hex}.db'}"

    @contextmanager
    def copy(self, template: str) -> Iterator[str]:
        with self.empty() as url:
            shutil.copyfile(_file(template), _file(url))
            yield url


class PostgresqlDatabases:
    """Databases with names of their own on one server, so that many test processes can share it."""

    def __init__(self, server: str) -> None:
        self.server = make_url(server)

    @contextmanager
    def empty(self) -> Iterator[str]:
        with self._create("template0") as url:
            yield url

    @contextmanager
    def copy(self, template: str) -> Iterator[str]:
        with self._create(make_url(template).database or "") as url:
            yield url

    @contextmanager
    def _create(self, template: str) -> Iterator[str]:
        name = f"canton_test_{uuid4().hex[:16]}"
        self._execute("CREATE DATABASE {} TEMPLATE {}", name, template)
        try:
            yield self.server.set(database=name).render_as_string(hide_password=False)
        finally:
            self._execute("DROP DATABASE {} WITH (FORCE)", name)

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(postgresql_address(self.server), autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


Databases = SqliteDatabases | PostgresqlDatabases


def databases(backend: str, folder: Path) -> Databases:
    return SqliteDatabases(folder) if backend == "sqlite" else PostgresqlDatabases(os.environ[SERVER])


@contextmanager
def migrated(source: Databases) -> Iterator[str]:
    """An upgraded database without connections, to copy from."""
    with source.empty() as url:
        database = open_database(url, idle_in_transaction=60)
        try:
            migrate.upgrade(database)
        finally:
            database.close()
        yield url


def postgresql_address(url: str | URL) -> str:
    """The address as psycopg itself reads it."""
    return make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)


def _file(url: str) -> Path:
    return Path(make_url(url).database or "")
