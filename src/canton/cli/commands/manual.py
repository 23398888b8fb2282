"""``canton manual``: the manual page of a command, drawn from the command itself."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile

import click

from canton.cli.lazy import LazyGroup


@click.command(epilog="\b\nExamples:\n  canton manual\n  canton manual node")
@click.argument("command", required=False)
@click.pass_context
def manual(context: click.Context, command: str | None) -> None:
    """Show the manual page of a command, or of canton; to a file or pipe, write its source for man."""
    from canton.cli.output.manual_pages import manual as draw  # noqa: PLC0415 (imports every command)

    root = context.find_root().command
    assert isinstance(root, LazyGroup)  # noqa: S101 (it is)
    if command is not None and command not in root.table:
        raise click.exceptions.NoSuchCommand(command, possibilities=root.table, ctx=context)
    page = draw((command,) if command else ())
    man = shutil.which("man")
    if not sys.stdout.isatty() or man is None:
        click.echo(page, nl=False)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".1", encoding="utf-8") as file:
        file.write(page)
        file.flush()
        status = subprocess.run([man, "-l", file.name], check=False).returncode  # noqa: S603 (our own file)
    context.exit(status)
