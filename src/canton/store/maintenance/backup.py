"""Copy the whole database into one file while it is being used.

The copy is written beside its final name, checked, forced to disk and only then given that name: a file that has
the name is a whole backup. A file that is already there is never replaced.
"""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from psycopg.conninfo import make_conninfo

from canton.domain.errors import NeedsHuman, Unavailable, WrongState
from canton.store.database import Database, foreign_errors_stop_here, libpq_arguments


def write(database: Database, target: Path) -> None:
    """Back up into ``target``. Restore: put the SQLite file in place, or ``pg_restore --dbname NEW target``."""
    if target.exists():
        raise _already_there(target)
    if not target.parent.is_dir():
        raise WrongState(f"there is no folder {target.parent} for the backup; create it first")
    copy = _copy_postgresql if database.is_postgresql else _copy_sqlite
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        # Created first, with its mode, so that other users cannot read it while it is written.
        partial.touch(mode=0o600, exist_ok=False)
        copy(database, partial)
        _force_to_disk(partial)
        _publish(partial, target)
        _force_to_disk(target.parent)
    except OSError as error:
        raise Unavailable(f"cannot write the backup {target}: {error.strerror}; choose another place") from error
    finally:
        partial.unlink(missing_ok=True)


def _copy_sqlite(database: Database, partial: Path) -> None:
    try:
        problem = _copy_pages(database, partial)
    except sqlite3.OperationalError as error:
        raise Unavailable(f"cannot copy {database.address}: {error}; make room, then try again") from error
    except sqlite3.DatabaseError as error:
        raise _damaged(database, str(error)) from error
    if problem != "ok":
        raise _damaged(database, problem)


def _copy_pages(database: Database, partial: Path) -> str:
    """Copy, and answer what SQLite says about the copy."""
    with (
        foreign_errors_stop_here(database.engine),
        closing(database.engine.raw_connection()) as source,
        closing(sqlite3.connect(partial)) as copy,
    ):
        # All pages in one step: in WAL mode that is one snapshot, and writers go on.
        source.backup(copy)
        # One file, without the log beside it; Canton turns WAL on again when it opens the file.
        copy.execute("PRAGMA journal_mode = DELETE")
        return str(copy.execute("PRAGMA integrity_check(1)").fetchone()[0])


def _copy_postgresql(database: Database, partial: Path) -> None:
    program = shutil.which("pg_dump")
    if program is None:
        raise Unavailable(
            "pg_dump is not on the PATH; install PostgreSQL's client programs, of the server's version or newer"
        )
    with _connect(database) as (address, hidden):
        process = subprocess.run(  # noqa: S603  # the program is pg_dump, and the address is the operator's own
            [program, "--format=custom", "--no-password", f"--file={partial}", f"--dbname={address}"],
            env=os.environ | hidden,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    if process.returncode != 0:
        raise Unavailable(f"pg_dump of {database.address} failed: {process.stderr.strip()}")


@contextmanager
def _connect(database: Database) -> Iterator[tuple[str, dict[str, str]]]:
    """The address for the command line, which every user of the machine can read, and what must not be there."""
    arguments = libpq_arguments(database)
    password, passphrase = arguments.pop("password", None), arguments.pop("sslpassword", None)
    hidden = {"PGPASSWORD": str(password)} if password else {}
    if not passphrase:
        yield make_conninfo("", **arguments), hidden
        return
    # libpq has no variable for the passphrase of a key: what is not in the address must be in a service's file.
    if "service" in arguments or "PGSERVICE" in os.environ:
        raise WrongState("the database address names a service and a sslpassword; write sslpassword with the service")
    with TemporaryDirectory(prefix="canton-backup-") as folder:
        services = Path(folder, "services")
        services.write_text(f"[canton]\nsslpassword={passphrase}\n", encoding="utf-8")
        yield make_conninfo("", service="canton", **arguments), hidden | {"PGSERVICEFILE": str(services)}


def _publish(partial: Path, target: Path) -> None:
    """Give the file its name; a rename would replace a file of that name that has appeared meanwhile."""
    try:
        os.link(partial, target)
    except FileExistsError as error:
        raise _already_there(target) from error
    except OSError:  # a file system without hard links
        if target.exists():
            raise _already_there(target) from None
        partial.rename(target)


def _force_to_disk(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _already_there(target: Path) -> WrongState:
    return WrongState(f"{target} exists and is not replaced; choose another name", path=str(target))


def _damaged(database: Database, problem: str) -> NeedsHuman:
    return NeedsHuman(
        f"the database {database.address} is damaged: {problem}; no backup was written; "
        "stop Canton, keep the file and restore the last good backup"
    )
