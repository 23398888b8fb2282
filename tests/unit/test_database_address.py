"""A database address is shown without its password, in every notation."""

from __future__ import annotations

import pytest

from canton.domain.database_address import hide_addresses, without_secrets

WORD = "sesame"
WITH_SECRETS = [
    "postgresql://canton:sesame@db/canton",
    "postgresql+psycopg://canton:sesame@db:5432/canton?sslmode=require",
    "postgres://:sesame@db/canton",
    "postgresql://canton:ses%61me@db/canton",
    "postgresql://canton:a/sesame@db/canton",
    "postgresql://canton:a?sesame@db/canton",
    "postgresql://canton:a@sesame@db/canton",
    "postgresql://canton:a@b/sesame@db/canton",
    "postgresql://canton:a@b?sesame@db/canton",
    "postgresql://canton:a b sesame@db/canton",
    "postgresql://canton@db/canton?password=sesame",
    "postgresql://canton@db/canton?%70assword=sesame",
    "postgresql://canton@db/canton?p%61ssword=%73esame&sslmode=require",
    "postgresql://canton@db/canton?sslpassword=sesame",
    "postgresql://canton@db/canton?passfile=/home/sesame/.pgpass",
    "postgresql://canton@db/canton?options=-c%20x=sesame",
    "postgresql://canton@db/canton?user=a@sesame",
    "postgresql://canton@db/canton?sesame",
    "postgresql://canton:sesame",
    "postgresql://canton%3Asesame@db/canton",
    "postgresql://host=127.0.0.1;password=sesame",
    "postgresql://host=127.0.0.1 password=sesame",
    "postgresql://canton@db/canton?host=h;password=sesame",
    "postgresql://canton@db/canton?host=h:sesame",
    "postgresql://canton@db/canton#password=sesame",
    "postgresql://canton@db/password=sesame",
    "postgresql:///?dbname=password%3Dsesame",
    "postgresql:///?dbname=postgresql%3A//canton%3Asesame%40db",
    "host=db;password=sesame",
    "dbname=postgresql://canton:sesame@db",
    "postgresql://canton:sesame/canton",
    "postgresql://canton:sesame@one:5432,two:5433/canton",
    "postgresql:///canton?host=one:5432&host=two:5433&password=sesame",
    "host=db password=sesame dbname=canton",
    "host=db password = 'ses\\'ame sesame' dbname=canton",
    "host=db password=ses\\ ame\\ sesame dbname=canton",
    "host=db sslpassword=sesame",
    "service=canton passfile=/sesame",
    "host=db password='sesame",
    "host=db sesame",
    "sesame",
]


@pytest.mark.parametrize("address", WITH_SECRETS)
def test_no_form_of_an_address_shows_its_password(address: str) -> None:
    masked = without_secrets(address)
    assert WORD not in masked
    assert "%73esame" not in masked
    assert "ses%61me" not in masked
    assert "(hidden)" in masked


@pytest.mark.parametrize("address", [a for a in WITH_SECRETS if a.startswith("postgres") and " " not in a])
def test_a_line_of_the_log_shows_no_password_either(address: str) -> None:
    line = hide_addresses(f"cannot reach {address} now; trying again")
    assert WORD not in line
    assert line.startswith("cannot reach postgres")
    assert line.endswith(" now; trying again")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("sqlite:////var/lib/canton/canton.db", "sqlite:////var/lib/canton/canton.db"),
        ("sqlite:////var/a@b:c/canton.db?mode=ro", "sqlite:////var/a@b:c/canton.db"),
        ("postgresql://canton@db.example.org/canton", "postgresql://canton@db.example.org/canton"),
        ("postgresql://canton:x@[::1]:5432/canton", "postgresql://canton:(hidden)@[::1]:5432/canton"),
        (
            "postgresql://canton:x@one:5432,two:5433/canton?sslmode=verify-full&target_session_attrs=read-write",
            "postgresql://canton:(hidden)@one:5432,two:5433/canton?sslmode=verify-full&target_session_attrs=read-write",
        ),
        ("postgresql:///?service=canton", "postgresql:///?service=canton"),
        ("postgresql://canton%40psi@db/canton", "postgresql://canton%40psi@db/canton"),
        ("postgresql:///canton?host=/run/postgresql", "postgresql:///canton?host=/run/postgresql"),
        ("postgresql:///canton?hostaddr=fd00::1&port=5433", "postgresql:///canton?hostaddr=fd00::1&port=5433"),
        ("host=/run/postgresql dbname=canton", "host=/run/postgresql dbname=canton"),
    ],
)
def test_what_is_no_secret_is_shown(address: str, expected: str) -> None:
    assert without_secrets(address) == expected
