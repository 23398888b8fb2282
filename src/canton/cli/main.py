"""The command ``canton``: the table of its commands, and what a failure looks like."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

import click

from canton import __version__

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

INTERRUPTED = 130  # as a shell reports a process that SIGINT ended


class Entry(NamedTuple):
    """Where a command is found, and what help and completion say of it without importing it."""

    target: str
    help: str
    section: str


COMMANDS = {
    "nodeset": Entry("canton.cli.nodeset:nodeset", "fold, expand and count sets of nodes", "Offline"),
    "db": Entry("canton.admin.db:db", "create, upgrade, check and back up the database", "On the server"),
    "audit": Entry("canton.admin.audit:audit", "verify the chain of audit records", "On the server"),
}


class Root(click.Group):
    """Imports a command when it is run, not before: start-up is a feature."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, attribute = entry.target.split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for section in dict.fromkeys(entry.section for entry in COMMANDS.values()):
            with formatter.section(section):
                formatter.write_dl([(name, it.help) for name, it in COMMANDS.items() if it.section == section])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # noqa: PLC0415 (only a shell that completes pays)

        found = [CompletionItem(name, help=it.help) for name, it in COMMANDS.items() if name.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)


# The stand-ins let Click list the commands and suggest the nearest to a misspelt one.
@click.group(
    cls=Root,
    commands=[click.Command(name) for name in COMMANDS],
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n  canton nodeset count 'x1000c0s[0-3]b0n[0-1]'\n  canton nodeset --help",
)
@click.version_option(__version__, message="canton %(version)s")
def root() -> None:
    """Hand parts of one supercomputer to other institutions, with proved separation."""


def main() -> int:
    """Run the command line; the answer is the exit code."""
    try:
        status = root.main(prog_name="canton", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.UsageError as error:
        return _explain_usage(error)
    except Exception as error:  # noqa: BLE001 (the edge: nothing above could handle it)
        return _explain(error)
    return status if isinstance(status, int) else 0


def _explain_usage(error: click.UsageError) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    else:
        command = error.ctx.command_path if error.ctx else "canton"
        _say(f"{error.format_message()}\nTry: {command} --help")
    return error.exit_code


def _explain(error: Exception) -> int:
    from canton.domain.errors import CantonError  # noqa: PLC0415 (keeps --help light)

    if os.environ.get("CANTON_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    if isinstance(error, CantonError):
        _say(error.message)
        return error.exit_code
    if isinstance(error, click.ClickException):
        _say(error.format_message())
        return error.exit_code
    said = " ".join(str(error).split())
    _say(f"unexpected {type(error).__name__}: {said}; set CANTON_DEBUG=1 to see where it came from")
    return 1


def _say(message: str) -> None:
    click.echo(f"canton: {message}", err=True)
