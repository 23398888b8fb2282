"""Every command as a page: the source of the reference and of the manual."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from typing import NamedTuple

import click

from canton.cli.lazy import LazyGroup
from canton.cli.main import root


class Page(NamedTuple):
    """One command: its path, usage, help text, options, examples and subcommands."""

    path: tuple[str, ...]
    usage: str
    text: str
    options: list[tuple[str, str]]
    examples: list[str]
    commands: list[tuple[str, str]]

    @property
    def name(self) -> str:
        return " ".join(("canton", *self.path))


def all_pages() -> Iterator[Page]:
    """The root and every installed command; a group comes before its subcommands."""
    yield from _walk((), root)


def pages_of(path: tuple[str, ...]) -> Iterator[Page]:
    """One command and its subcommands."""
    return (page for page in all_pages() if page.path[: len(path)] == path)


def _walk(path: tuple[str, ...], command: click.Command) -> Iterator[Page]:
    context = _context(path, command)
    inner = list(_subcommands(context, command))
    yield _page(path, context, inner)
    for name, subcommand in inner:
        yield from _walk((*path, name), subcommand)


def _context(path: tuple[str, ...], command: click.Command) -> click.Context:
    context = click.Context(root, info_name="canton", terminal_width=80, help_option_names=["-h", "--help"])
    for name in path[:-1]:
        context = click.Context(click.Command(name), info_name=name, parent=context)
    return click.Context(command, info_name=path[-1], parent=context) if path else context


def _subcommands(context: click.Context, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    if not isinstance(command, click.Group):
        return
    for name in command.in_order() if isinstance(command, LazyGroup) else command.commands:
        if isinstance(command, LazyGroup) and name in command.table and not _installed(command.table[name].target):
            continue
        subcommand = command.get_command(context, name)
        if subcommand is not None and not subcommand.hidden:
            yield name, subcommand


def _installed(target: str) -> bool:
    return find_spec(target.split(":", maxsplit=1)[0]) is not None


def _page(path: tuple[str, ...], context: click.Context, inner: list[tuple[str, click.Command]]) -> Page:
    command = context.command
    params = [param for param in command.get_params(context) if isinstance(param, click.Option)]
    options = [record for param in params if (record := param.get_help_record(context))]
    usage = command.get_usage(context).removeprefix("Usage: ")
    subcommands = [(name, _first_paragraph(subcommand.help or "")) for name, subcommand in inner]
    examples = _examples(command.epilog or "")
    return Page(path, " ".join(usage.split()), _plain(command.help or ""), options, examples, subcommands)


def _plain(text: str) -> str:
    import inspect  # noqa: PLC0415

    return inspect.cleandoc(text).strip()


def _first_paragraph(text: str) -> str:
    return " ".join(_plain(text).split("\n\n")[0].split())


def _examples(epilog: str) -> list[str]:
    """The lines of the epilog that contain a command."""
    return [line.strip() for line in epilog.splitlines() if re.match(r"\s+\S*.*canton", line)]
