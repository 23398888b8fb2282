"""``canton admin``: add the first administrator, and hash passwords, on the server itself."""

from __future__ import annotations

import os
import pwd
import re
import sys
from pathlib import Path

import click
from sqlalchemy.engine import Connection

from canton.admin.options import config_option, database_option, load_settings, open_chosen_database
from canton.api.mutations.changes import check_reason
from canton.api.rendering.patterns import SUBJECT
from canton.api.v1.members import check_subject
from canton.domain.errors import InvalidRequest, ReasonRequired
from canton.domain.json_types import JsonObject
from canton.issuer import passwords
from canton.settings import loading
from canton.settings.model import Settings
from canton.store import audit, outbox
from canton.store.access import bindings
from canton.store.maintenance import migrate

ROLE = "provider-admin"


@click.group(epilog="\b\nExample:\n  canton admin add cscs:rosa --reason 'first administrator'")
def admin() -> None:
    """Add an administrator of the provider, or hash a password."""


@admin.command(epilog="\b\nExamples:\n  canton admin hash-password\n  pass show canton | canton admin hash-password")
def hash_password() -> None:
    """Print the hash of a password.

    The hash is for the users file of the embedded issuer. On a terminal it asks for the password twice; otherwise it
    reads the first line of standard input.
    """
    if sys.stdin.isatty():
        password = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        password = sys.stdin.readline().rstrip("\n")
    if not password:
        raise InvalidRequest("the password is empty; write one line of text")
    click.echo(passwords.hash_password(password))


@admin.command(epilog="\b\nExample:\n  canton admin add cscs:rosa --reason 'first administrator'")
@click.argument("subject", metavar="ISSUER:NAME")
@click.option("--reason", required=True, help="Why this person becomes an administrator; kept in the audit.")
@config_option
@database_option
def add(subject: str, reason: str, config: Path | None, address: str | None) -> None:
    """Make a person a provider-admin, without the API.

    For the first administrator, or if the last one has left. It needs no token: everyone who can read the server's
    configuration and write its database can do this. The audit names the account of the operating system. To give any
    other role, use `canton member add`.
    """
    flags = loading.Flags(config, address)
    check_subject_and_reason(load_settings(flags), subject, reason)
    with open_chosen_database(flags) as database:
        migrate.require_current(database)
        with database.write() as connection:
            changed = _grant(connection, subject, reason)
    click.echo(f"{subject} is {ROLE}" if changed else f"{subject} is already {ROLE}; nothing to do")


def check_subject_and_reason(settings: Settings, subject: str, reason: str) -> None:
    if re.fullmatch(SUBJECT, subject) is None:
        raise InvalidRequest(f'"{subject}" is not a person; write ISSUER:USERNAME, such as cscs:rosa')
    check_subject(settings, subject)
    check_reason(reason)
    if not reason.strip():
        raise ReasonRequired("an administrator is made with a reason; say why with --reason")


def _grant(connection: Connection, subject: str, reason: str) -> bool:
    """Grant and record, in one transaction; whether it is new."""
    # Without a colon, the name cannot be that of an issuer's user.
    actor = f"server/{pwd.getpwuid(os.geteuid()).pw_name}"
    result = bindings.grant(connection, bindings.Grant(subject, ROLE, None, None), actor, reason)
    about = f"binding:{result.row['id']}"
    details: JsonObject = {"subject": subject, "role": ROLE, "until": None}
    outcome = "done" if result.changed else "unchanged"
    audit.append(
        connection,
        actor=actor,
        action="member.grant",
        subject=about,
        reason=reason,
        details={**details, "permission": "member.grant", "rule": "on-the-server", "outcome": outcome},
    )
    if result.changed:
        event = outbox.Event("member.granted", about, {**details, "reason": reason, "actor": actor})
        outbox.append(connection, outbox.PROVIDER, [event])
    return result.changed
