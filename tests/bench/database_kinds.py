"""The databases that can be measured on this machine; PostgreSQL is started here unless the environment names one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from canton.store.database import Database, open_database
from databases import SERVER, Databases, databases, migrated, postgresql_address

POSTGRES = Path(__file__).parents[2] / ".ci" / "postgres"


@dataclass(frozen=True, slots=True)
class DatabaseKind:
    """One kind of database."""

    name: str
    source: Databases
    template: str

    @contextmanager
    def fresh(self) -> Iterator[tuple[str, Database]]:
        """A new migrated database: its address for worker processes, and an open handle for the benchmark."""
        with self.source.copy(self.template) as url:
            opened = open_database(url)
            try:
                yield url, opened
            finally:
                opened.close()


@contextmanager
def database_kinds() -> Iterator[list[DatabaseKind]]:
    """SQLite always; PostgreSQL where the environment names one or it can be started. All are deleted afterwards."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="canton-bench-")))
        names = ["sqlite", "postgresql"] if stack.enter_context(_server(folder)) else ["sqlite"]
        sources = [(name, databases(name, folder)) for name in names]
        yield [DatabaseKind(name, source, stack.enter_context(migrated(source))) for name, source in sources]


@contextmanager
def _server(folder: Path) -> Iterator[bool]:
    if os.environ.get(SERVER):
        yield True
        return
    folder.chmod(0o711)  # for root: the server then runs as another user, who must get through
    data = folder / "postgresql"
    started = subprocess.run([POSTGRES, "start", data], text=True, capture_output=True, check=False)
    if started.returncode:
        print(f"LEFT OUT: everything on PostgreSQL ({started.stderr.strip()})", file=sys.stderr)
        yield False
        return
    os.environ[SERVER] = started.stdout.strip()
    try:
        yield True
    finally:
        del os.environ[SERVER]
        subprocess.run([POSTGRES, "stop", data], check=True)


def postgresql_version() -> str | None:
    if SERVER not in os.environ:
        return None
    with psycopg.connect(postgresql_address(os.environ[SERVER])) as connection:
        row = connection.execute("SHOW server_version").fetchone()
    return str(row[0]) if row else None
