"""``canton settings``: the value of every setting, and where it came from."""

from __future__ import annotations

import json
import os
from pathlib import Path

import click

from canton import wiring
from canton.admin.options import config_option, database_option
from canton.domain.database_address import without_secrets
from canton.settings import loading
from canton.settings.kinds import Address
from canton.settings.sources import EffectiveValue


@click.command(
    epilog="\b\nExamples:\n  canton settings --config /etc/canton/server.toml\n"
    "  CANTON_LOG_LEVEL=debug canton settings --check"
)
@click.option("--check", is_flag=True, help="Only check whether they are valid; exit code 2 if not.")
@click.option("--json", "as_json", is_flag=True, help="As JSON, for programs.")
@config_option
@database_option
def settings(check: bool, as_json: bool, config: Path | None, address: str | None) -> None:
    """Show every setting, its value and its source; secrets are hidden."""
    values = loading.effective(os.environ, loading.Flags(config, address))
    built = loading.build(values)
    if check:
        wiring.check(built)
        files = dict.fromkeys(it.origin.rpartition(" line ")[0] for it in values if " line " in it.origin)
        click.echo(f"{', '.join(files) or 'no configuration file'}: {len(values)} settings are good")
    elif as_json:
        click.echo(json.dumps([{"key": it.key, "value": _plain(it), "origin": it.origin} for it in values]))
    else:
        width = max(len(it.key) for it in values)
        for it in values:
            click.echo(f"{it.key:{width}}  {_written(_plain(it)):30}  {it.origin}")


def _plain(it: EffectiveValue) -> object:
    value = it.value
    if it.secret:
        return without_secrets(str(value))
    return str(value) if isinstance(value, Path | Address) else value


def _written(value: object) -> str:
    """As in a configuration file; what is not set, as a dash."""
    return "-" if value is None else json.dumps(value, ensure_ascii=False)
