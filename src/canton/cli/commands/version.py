"""``canton version`` and ``canton help``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from canton import __version__
from canton.cli.input.options import session_options
from canton.cli.output.formats import as_json, as_yaml, write
from canton.cli.session.session import NoServer, Session
from canton.domain.terminal_text import one_line

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@click.command(epilog="\b\nExample:\n  canton version -o json")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), help="The output format; default: table.")
@session_options
def version(session: Session, output: str | None) -> None:
    """Show the version of this command, and of the server if one is named. Needs no login."""
    versions = {"client": __version__}
    try:
        versions |= _server(session)
    finally:
        _write(versions, output or session.output)


def _write(versions: dict[str, str], output: str | None) -> None:
    texts = {"json": lambda: as_json(versions, indent=2) + "\n", "yaml": lambda: as_yaml(versions)}
    server = f"server  {one_line(versions['server'])}  {versions['url']}\n" if "url" in versions else ""
    plain = f"client  {__version__}\n{server}"
    write(texts[output]() if output in texts else plain)


def _server(session: Session) -> dict[str, str]:
    """The server's version and address; empty if no server is named. Raises if it does not answer."""
    try:
        url = session.server
    except NoServer:
        return {}
    from canton.client.credentials import Token  # noqa: PLC0415 (offline it is not needed)

    with session.connect(Token(None)) as client:
        return {"server": client.version()["version"], "url": url}


def _complete(context: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The subcommands of the command named so far."""
    step = context.find_root()
    for name in context.params.get("command") or ():
        inner = step.command.get_command(step, name) if isinstance(step.command, click.Group) else None
        if inner is None:
            return []
        step = click.Context(inner, info_name=inner.name, parent=step)
    return step.command.shell_complete(step, incomplete) if isinstance(step.command, click.Group) else []


@click.command("help", epilog="\b\nExamples:\n  canton help\n  canton help node power")
@click.argument("command", nargs=-1, shell_complete=_complete)
@click.pass_context
def show_help(context: click.Context, command: tuple[str, ...]) -> None:
    """Show the help of a command, as COMMAND --help does."""
    step = context.find_root()
    for name in command:
        group = step.command
        inner = group.get_command(step, name) if isinstance(group, click.Group) else None
        if inner is None:
            nouns = group.list_commands(step) if isinstance(group, click.Group) else ()
            raise click.exceptions.NoSuchCommand(name, possibilities=nouns, ctx=step)
        step = click.Context(inner, info_name=inner.name, parent=step)
    click.echo(step.get_help())
