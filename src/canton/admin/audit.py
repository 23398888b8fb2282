"""``canton audit``: is the chain of audit records whole?"""

from __future__ import annotations

import re
from pathlib import Path

import click

from canton.admin.options import config_option, database_option, open_chosen_database
from canton.domain.errors import NotFound
from canton.settings.loading import Flags
from canton.store import audit as chain
from canton.store.maintenance import migrate

ANCHOR = re.compile(r"(\d{1,18}):(sha256:[0-9a-f]{64})")


@click.group(epilog="\b\nExample:\n  canton audit verify")
def audit() -> None:
    """Verify the chain of audit records."""


class AnchorType(click.ParamType[chain.Anchor]):
    name = "SEQ:HASH"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> chain.Anchor:
        match = ANCHOR.fullmatch(str(value).strip())
        if match is None:
            self.fail("write it as `canton audit head` printed it: 17:sha256:…", param, ctx)
        return int(match[1]), match[2]


@audit.command(epilog='\b\nExample:\n  canton audit verify --anchor "$(cat /safe/place/audit-head)"')
@click.option("--anchor", type=AnchorType(), help="A head that `canton audit head` printed earlier, stored elsewhere.")
@config_option
@database_option
def verify(anchor: chain.Anchor | None, config: Path | None, address: str | None) -> None:
    """Check every audit record and name the first that was changed, removed, inserted or moved.

    A person who can write to the database could compute the whole chain again. Only an anchor reveals that: a head that
    was stored where they cannot change it. It proves every record up to its own.
    """
    with open_chosen_database(Flags(config, address)) as database:
        migrate.require_known(database)
        with database.read() as connection:
            head = chain.verify(connection, anchor)
    if head.seq == 0:
        raise NotFound(
            "the audit of this database holds no record, so nothing was verified; if Canton has been used, this is "
            "another database than the server's: give --config as the server has it"
        )
    click.echo(f"audit chain intact: {head.seq} records, head {head}")


@audit.command(epilog="\b\nExample, once a day:\n  canton audit head | ssh evidence.example.org 'cat >> canton-heads'")
@config_option
@database_option
def head(config: Path | None, address: str | None) -> None:
    """Print the number and hash of the last audit record, to store elsewhere as an anchor for `verify`."""
    with open_chosen_database(Flags(config, address)) as database:
        migrate.require_known(database)
        with database.read() as connection:
            click.echo(str(chain.head(connection)))
