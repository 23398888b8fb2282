from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sqlalchemy.engine import Connection

from canton.domain.errors import AuditBroken
from canton.store import audit, schema
from canton.store.audit import GENESIS, Head, Record
from canton.store.database import SECOND, Database
from canton.store.database import now as database_now

LENGTH = 6
FIELDS = {
    "at": 1,
    "actor": "mallory",
    "action": "tenant.delete",
    "subject": "psi",
    "reason": "",
    "details": "{ }",
    "previous": GENESIS,
    "hash": GENESIS,
}


def add(connection: Connection, count: int = 1) -> None:
    for n in range(count):
        audit.append(
            connection,
            actor="alice",
            action="node.assign",
            subject=f"x1000c0s{n}b0n0",
            reason="ticket 17",
            details={"tenant": "psi", "n": n},
        )


@pytest.fixture
def chain(database: Database) -> Database:
    """A chain of ``LENGTH`` records that its guards no longer protect."""
    with database.write() as connection:
        add(connection, LENGTH)
        unguard(connection)
    return database


def unguard(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("ALTER TABLE audit DISABLE TRIGGER USER")
        return
    names = connection.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'")
    for name in names.scalars().all():
        connection.exec_driver_sql(f"DROP TRIGGER {name}")


def load(connection: Connection, seq: int) -> Record:
    row = connection.execute(sa.select(schema.audit).where(schema.audit.c.seq == seq)).one()
    return Record(**row._asdict())


def put(connection: Connection, record: Record, *, sealed: bool = True) -> Record:
    if sealed:
        record = replace(record, hash=record.seal())
    connection.execute(sa.insert(schema.audit).values(asdict(record)))
    return record


def change(connection: Connection, number: int, **values: object) -> None:
    connection.execute(sa.update(schema.audit).where(schema.audit.c.seq == number).values(**values))


def remove(connection: Connection, seq: int) -> None:
    connection.execute(sa.delete(schema.audit).where(schema.audit.c.seq == seq))


def shift(connection: Connection, first: int, by: int) -> None:
    """Renumber the records from ``first`` on."""
    later = sa.select(schema.audit.c.seq).where(schema.audit.c.seq >= first)
    for seq in sorted(connection.scalars(later), reverse=by > 0):
        change(connection, seq, seq=seq + by)


def set_head(connection: Connection, **values: object) -> None:
    connection.execute(sa.update(schema.audit_head).values(**values))


def broken(database: Database, anchor: audit.Anchor | None = None) -> dict[str, object]:
    with database.read() as connection, pytest.raises(AuditBroken) as caught:
        audit.verify(connection, anchor)
    seq = caught.value.details["seq"]
    assert seq == 0 or f"record {seq} " in caught.value.message
    return dict(caught.value.details)


def test_an_empty_chain_is_intact(database: Database) -> None:
    with database.read() as connection:
        assert audit.verify(connection) == audit.head(connection) == Head(0, GENESIS)


def test_records_are_numbered_from_one_and_the_head_seals_the_last(database: Database) -> None:
    with database.write() as connection:
        add(connection, LENGTH)
    with database.read() as connection:
        head = audit.verify(connection)
        assert head.seq == LENGTH
        assert head == audit.head(connection) == Head(LENGTH, load(connection, LENGTH).hash)
        assert str(head) == f"{LENGTH}:{head.hash}"


def test_a_record_holds_what_was_said_and_the_time_of_the_database(database: Database) -> None:
    with database.write() as connection:
        seq = audit.append(
            connection, actor="žofie", action="a", subject="s", reason="why\nnot", details={"b": [1, None], "a": "ü"}
        )
        record = load(connection, seq)
        now = connection.scalar(sa.select(database_now()))
    assert (record.actor, record.action, record.subject, record.reason) == ("žofie", "a", "s", "why\nnot")
    assert record.details == '{"a":"ü","b":[1,null]}'
    assert record.previous == GENESIS
    assert now is not None
    assert now - 60 * SECOND < record.at <= now


def test_a_transaction_that_fails_leaves_no_record(database: Database) -> None:
    with database.write() as connection:
        add(connection)
    with database.engine.connect() as connection, connection.begin() as transaction:
        add(connection, 2)
        transaction.rollback()
    with database.write() as connection:
        add(connection)
    with database.read() as connection:
        assert audit.verify(connection).seq == 2


def test_what_is_hashed_never_changes() -> None:
    """Existing chains were sealed with these hashes: another result here would make all of them look forged."""
    record = Record(7, 1_700_000_000_000_000, "ann", "do", "x", "why", '{"k":"ü"}', None, GENESIS, "")
    assert record.seal() == "sha256:ee182c906b4f6411a3036a6f3017536c381707c213f2be956636fdafa1a0efd3"


@pytest.mark.parametrize(
    "statement", ["UPDATE audit SET reason = 'x' WHERE seq = 2", "DELETE FROM audit WHERE seq = 2"]
)
def test_the_database_refuses_to_change_the_audit(database: Database, statement: str) -> None:
    with database.write() as connection:
        add(connection, 3)
    with pytest.raises(sa.exc.IntegrityError, match="audit refuses"), database.write() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("backend", ["postgresql"], indirect=True)
def test_postgresql_refuses_to_truncate_the_audit(database: Database) -> None:
    with pytest.raises(sa.exc.IntegrityError, match="audit refuses TRUNCATE"), database.write() as connection:
        connection.exec_driver_sql("TRUNCATE audit")


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_sqlite_refuses_to_replace_a_record(database: Database) -> None:
    with database.write() as connection:
        add(connection, 3)
    with pytest.raises(sa.exc.IntegrityError, match="audit refuses REPLACE"), database.write() as connection:
        connection.exec_driver_sql("INSERT OR REPLACE INTO audit SELECT * FROM audit")


@pytest.mark.parametrize("seq", [1, 3, LENGTH])
@pytest.mark.parametrize("field", FIELDS)
def test_a_changed_field_is_found(chain: Database, field: str, seq: int) -> None:
    value = "sha256:" + "1" * 64 if field in ("previous", "hash") else FIELDS[field]
    with chain.write() as connection:
        change(connection, seq, **{field: value})
    assert broken(chain) == {"seq": seq, "what": "changed"}


def test_a_changed_number_is_found(chain: Database) -> None:
    with chain.write() as connection:
        change(connection, 3, seq=40)
    assert broken(chain) == {"seq": 3, "what": "reordered"}


@pytest.mark.parametrize("seq", [1, 3, LENGTH - 1])
def test_a_record_changed_and_sealed_again_is_found(chain: Database, seq: int) -> None:
    with chain.write() as connection:
        record = replace(load(connection, seq), actor="mallory")
        change(connection, seq, actor=record.actor, hash=record.seal())
    assert broken(chain) == {"seq": seq, "what": "changed"}


def test_the_last_record_changed_and_sealed_again_disagrees_with_the_head(chain: Database) -> None:
    with chain.write() as connection:
        record = replace(load(connection, LENGTH), actor="mallory")
        change(connection, LENGTH, actor=record.actor, hash=record.seal())
    assert broken(chain) == {"seq": LENGTH, "what": "head changed"}


@pytest.mark.parametrize(("seq", "what"), [(1, "removed"), (3, "removed"), (LENGTH, "cut off")])
def test_a_removed_record_is_found(chain: Database, seq: int, what: str) -> None:
    with chain.write() as connection:
        remove(connection, seq)
    assert broken(chain) == {"seq": seq, "what": what}


def test_a_removed_record_is_found_when_the_later_ones_are_renumbered(chain: Database) -> None:
    with chain.write() as connection:
        remove(connection, 3)
        shift(connection, 4, by=-1)
        set_head(connection, seq=LENGTH - 1)
    assert broken(chain) == {"seq": 3, "what": "removed"}


def test_all_records_removed_is_found(chain: Database) -> None:
    with chain.write() as connection:
        connection.execute(sa.delete(schema.audit))
    assert broken(chain) == {"seq": 1, "what": "cut off"}


@pytest.mark.parametrize("linked", [True, False])
@pytest.mark.parametrize("seq", [1, 3, LENGTH])
def test_a_record_put_in_between_is_found(chain: Database, seq: int, linked: bool) -> None:
    with chain.write() as connection:
        record = load(connection, seq)
        shift(connection, seq, by=1)
        link = record.previous if linked else "sha256:" + "1" * 64
        put(connection, replace(record, actor="mallory", previous=link))
        set_head(connection, seq=LENGTH + 1)
    assert broken(chain) == {"seq": seq, "what": "inserted"}


def test_a_record_put_in_between_without_a_seal_is_found(chain: Database) -> None:
    with chain.write() as connection:
        record = load(connection, 3)
        shift(connection, 3, by=1)
        put(connection, replace(record, actor="mallory"), sealed=False)
    assert broken(chain) == {"seq": 3, "what": "inserted"}


@pytest.mark.parametrize("linked", [True, False])
def test_a_record_put_in_at_the_end_is_found(chain: Database, linked: bool) -> None:
    with chain.write() as connection:
        last = load(connection, LENGTH)
        link = last.hash if linked else "sha256:" + "1" * 64
        put(connection, replace(last, seq=LENGTH + 1, previous=link))
    assert broken(chain) == {"seq": LENGTH + 1, "what": "inserted"}


@pytest.mark.parametrize("seq", [0, -7])
def test_a_record_put_in_before_the_first_is_found(chain: Database, seq: int) -> None:
    with chain.write() as connection:
        put(connection, replace(load(connection, 1), seq=seq))
    assert broken(chain) == {"seq": seq, "what": "inserted"}


@pytest.mark.parametrize(("one", "second_seq"), [(1, 2), (2, 5), (LENGTH - 1, LENGTH)])
def test_two_records_that_changed_places_are_found(chain: Database, one: int, second_seq: int) -> None:
    with chain.write() as connection:
        change(connection, one, seq=99)
        change(connection, second_seq, seq=one)
        change(connection, 99, seq=second_seq)
    assert broken(chain) == {"seq": one, "what": "reordered"}


def test_records_far_apart_that_changed_places_are_found(chain: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search for a record's place is limited, but includes the place of the record it was exchanged with."""
    monkeypatch.setattr(audit, "NEIGHBOURHOOD", 1)
    with chain.write() as connection:
        for old, new in ((2, 99), (5, 2), (99, 5)):
            change(connection, old, seq=new)
    assert broken(chain) == {"seq": 2, "what": "reordered"}


def test_three_records_that_changed_places_are_found(chain: Database) -> None:
    with chain.write() as connection:
        for old, new in ((2, 99), (3, 2), (4, 3), (99, 4)):
            change(connection, old, seq=new)
    assert broken(chain) == {"seq": 2, "what": "reordered"}


@pytest.mark.parametrize(
    ("values", "seq", "what"),
    [
        ({"hash": GENESIS}, LENGTH, "head changed"),
        ({"seq": LENGTH + 1}, LENGTH + 1, "head changed"),
        ({"seq": LENGTH - 1}, LENGTH - 1, "head changed"),
        ({"seq": 0}, 0, "head changed"),
        ({"seq": -1}, 0, "head changed"),
        ({"seq": 0, "hash": GENESIS}, 1, "inserted"),
        ({"seq": LENGTH + 9, "hash": GENESIS}, LENGTH + 1, "cut off"),
    ],
)
def test_a_changed_head_is_found(chain: Database, values: dict[str, object], seq: int, what: str) -> None:
    with chain.write() as connection:
        set_head(connection, **values)
    assert broken(chain) == {"seq": seq, "what": what}


def test_a_removed_head_is_found_and_nothing_can_be_added(chain: Database) -> None:
    with chain.write() as connection:
        connection.execute(sa.delete(schema.audit_head))
    assert broken(chain) == {"seq": 0, "what": "head changed"}
    with pytest.raises(AuditBroken, match="head row is gone"), chain.write() as connection:
        add(connection)


def rewrite_tail(connection: Connection, seq: int) -> None:
    """What an attacker with full access and this code can do: change a record and seal all later ones again."""
    previous = load(connection, seq).previous
    for n in range(seq, LENGTH + 1):
        record = replace(load(connection, n), actor="mallory", previous=previous)
        previous = record.seal()
        change(connection, n, actor=record.actor, previous=record.previous, hash=previous)
    set_head(connection, hash=previous)


def test_only_an_anchor_finds_a_rewritten_tail(chain: Database) -> None:
    with chain.read() as connection:
        early, late = Head(2, load(connection, 2).hash), audit.head(connection)
    with chain.write() as connection:
        rewrite_tail(connection, 4)
    with chain.read() as connection:
        assert audit.verify(connection).seq == LENGTH
        assert audit.verify(connection, (early.seq, early.hash)).seq == LENGTH
    assert broken(chain, (late.seq, late.hash)) == {"seq": LENGTH, "what": "rewritten"}


def test_only_an_anchor_finds_a_chain_cut_off_with_its_head(chain: Database) -> None:
    with chain.read() as connection:
        late = audit.head(connection)
    with chain.write() as connection:
        set_head(connection, seq=LENGTH - 2, hash=load(connection, LENGTH - 2).hash)
        remove(connection, LENGTH)
        remove(connection, LENGTH - 1)
    with chain.read() as connection:
        assert audit.verify(connection).seq == LENGTH - 2
    assert broken(chain, (late.seq, late.hash)) == {"seq": LENGTH - 1, "what": "cut off"}


def test_an_anchor_from_before_the_first_record(chain: Database) -> None:
    with chain.read() as connection:
        assert audit.verify(connection, (0, GENESIS)).seq == LENGTH
    assert broken(chain, (0, "sha256:" + "1" * 64)) == {"seq": 0, "what": "rewritten"}


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("field", "value"), [("actor", b"\xff\x00"), ("seq", "six"), ("at", "noon"), ("hash", b"x")])
def test_values_of_another_type_are_found(chain: Database, field: str, value: object) -> None:
    """SQLite stores values of any type, whatever the column's type is."""
    with chain.write() as connection:
        # As a literal: a bound value would be converted to the type of the column.
        change(connection, LENGTH, **{field: sa.literal(value)})
    with chain.read() as connection, pytest.raises(AuditBroken):
        audit.verify(connection)


@pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
def test_a_head_of_another_type_is_found(chain: Database) -> None:
    with chain.write() as connection:
        connection.exec_driver_sql("UPDATE audit_head SET seq = 'many'")
    assert broken(chain)["what"] == "head changed"


Tamper = Callable[[Connection], object]
seqs = st.integers(1, LENGTH)
hashes = st.sampled_from(["sha256:" + "2" * 64, GENESIS, ""])
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
new_values = st.one_of(
    *(st.fixed_dictionaries({name: texts}) for name in ("actor", "action", "subject", "reason", "details")),
    *(st.fixed_dictionaries({name: hashes}) for name in ("previous", "hash")),
    st.fixed_dictionaries({"at": st.integers(0, 2**62)}),
    st.fixed_dictionaries({"seq": st.integers(LENGTH + 1, 2**62)}),
)


def tampers() -> st.SearchStrategy[Tamper]:
    def changing(seq: int, values: dict[str, object]) -> Tamper:
        return lambda connection: change(connection, seq, **values)

    def removing(seq: int) -> Tamper:
        return lambda connection: remove(connection, seq)

    def copying(source: int, target: int) -> Tamper:
        def copy(connection: Connection) -> None:
            row = connection.execute(sa.select(schema.audit).where(schema.audit.c.seq == source)).one_or_none()
            occupied = connection.scalar(sa.select(sa.func.count()).where(schema.audit.c.seq == target))
            if row is not None and not occupied:
                put(connection, replace(Record(**row._asdict()), seq=target))

        return copy

    def swapping(one: int, second_seq: int) -> Tamper:
        def swap(connection: Connection) -> None:
            change(connection, one, seq=-1)
            change(connection, second_seq, seq=one)
            change(connection, -1, seq=second_seq)

        return swap

    return st.one_of(
        st.builds(changing, seqs, new_values),
        st.builds(removing, seqs),
        st.builds(copying, seqs, st.integers(-1, LENGTH + 2)),
        st.builds(swapping, seqs, seqs),
    )


def contents(connection: Connection) -> list[tuple[object, ...]]:
    return [tuple(row) for row in connection.execute(sa.select(schema.audit).order_by(schema.audit.c.seq))]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(tampers(), min_size=1, max_size=4))
def test_whatever_is_done_to_the_records_is_found(chain: Database, changes: list[Tamper]) -> None:
    with chain.engine.connect() as connection, connection.begin() as transaction:
        contents_before = contents(connection)
        for index, tamper in enumerate(changes):
            savepoint = connection.begin_nested()
            try:
                tamper(connection)
            except sa.exc.IntegrityError:  # two records with one number: the database refuses this much
                savepoint.rollback()
                assume(index > 0)
            else:
                savepoint.commit()
        assume(contents(connection) != contents_before)
        with pytest.raises(AuditBroken):
            audit.verify(connection)
        transaction.rollback()


def test_appenders_at_the_same_time_make_one_chain(database: Database) -> None:
    writers, records_per_writer = 5, 12
    together = threading.Barrier(writers)

    def write(_: int) -> None:
        together.wait()
        for _ in range(records_per_writer):
            with database.write() as connection:
                add(connection)

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(write, range(writers)))
    with database.read() as connection:
        assert audit.verify(connection).seq == writers * records_per_writer


def test_appenders_do_not_disturb_who_verifies(database: Database) -> None:
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            with database.write() as connection:
                add(connection)

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            for _ in range(30):
                with database.read() as connection:
                    audit.verify(connection)
        finally:
            stop.set()
        writing.result()


VERIFY = """
import re, sys
from canton.store import audit
from canton.store.database import open_database

def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

database = open_database(sys.argv[1])
with database.read() as connection:
    audit.head(connection)
    before = peak()
    seq = audit.verify(connection).seq
    print(seq, peak() - before)
database.close()
"""


def test_a_long_chain_is_verified_in_little_memory(database: Database, database_url: str) -> None:
    """In a process of its own: the memory of a PostgreSQL client is not part of Python's."""
    count, reason = 12_000, "r" * 4_000
    records, previous = [], GENESIS
    for n in range(1, count + 1):
        record = Record(n, n, "a", "b", "c", reason, "{}", None, previous, "")
        record = replace(record, hash=record.seal())
        records.append(asdict(record))
        previous = record.hash
    with database.write() as connection:
        connection.execute(sa.insert(schema.audit), records)
        set_head(connection, seq=count, hash=previous)
    process = subprocess.run([sys.executable, "-c", VERIFY, database_url], check=True, capture_output=True, text=True)
    verified, kilobytes = map(int, process.stdout.split())
    assert verified == count
    # A batch of 1,000 such rows is 4 MB, held twice; all of them together are 48.
    assert kilobytes < 25_000
