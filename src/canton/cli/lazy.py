"""A group that imports a command when it is run, not before: start-up is a feature."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Entry(NamedTuple):
    """Where to import a command from, and its line of help, which is shown without importing it."""

    target: str
    help: str
    section: str = "Commands"


class LazyGroup(click.Group):
    """Commands from a table; those added in the usual way come first."""

    def __init__(self, *arguments: Any, table: Mapping[str, Entry], **keywords: Any) -> None:  # Click's own are untyped
        super().__init__(*arguments, **keywords)
        self.table = table
        # Stand-ins let Click list the commands and suggest the nearest to a misspelt one.
        for name in table:
            self.add_command(click.Command(name))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = self.table.get(cmd_name)
        if entry is None:
            return super().get_command(ctx, cmd_name)
        module, attribute = entry.target.split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        own = [Entry("", command.get_short_help_str(60).removesuffix(".")) for _, command in self._own()]
        rows = [*zip((name for name, _ in self._own()), own, strict=True), *self.table.items()]
        for section in dict.fromkeys(entry.section for _, entry in rows):
            with formatter.section(section):
                formatter.write_dl([(name, entry.help) for name, entry in rows if entry.section == section])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem  # noqa: PLC0415 (only a shell that completes pays)

        commands = [(name, command.get_short_help_str(60)) for name, command in self._own()]
        commands += [(name, entry.help) for name, entry in self.table.items()]
        items = [CompletionItem(name, help=text) for name, text in commands if name.startswith(incomplete)]
        return items + click.Command.shell_complete(self, ctx, incomplete)

    def in_order(self) -> list[str]:
        """The names of the commands, as help lists them."""
        return [*(name for name, _ in self._own()), *self.table]

    def _own(self) -> list[tuple[str, click.Command]]:
        return [(name, command) for name, command in self.commands.items() if name not in self.table]
