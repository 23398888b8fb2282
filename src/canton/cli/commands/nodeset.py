"""``canton nodeset``: fold, expand and count, without a server."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from canton.domain.errors import NodesetTooLarge
from canton.domain.nodeset.nodeset import LIMIT, NodeSet, parse
from canton.domain.nodeset.parse import LONGEST_TEXT

nodesets_argument = click.argument("nodesets", nargs=-1)
limit_option = click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    metavar="NODES",
    help=f"Refuse sets with more names than this; default: {LIMIT:,}.",
)


@click.group(
    epilog="""\b
Examples:
  canton nodeset expand 'x1000c0s[0-3]b0n[0-1]'
  canton nodeset count 'nid[001000-001999]!nid[001100-001199]'
  sinfo -hN -o %N | canton nodeset fold"""
)
def nodeset() -> None:
    """Fold, expand and count sets of nodes.

    \b
    x1000c0s[0-3]b0n[0-1]   ranges, in any number of places
    nid[001000-001010/2]    zero padding and steps
    a,b   a!b   a&b   a^b   union, difference, intersection, symmetric
                            difference, from left to right

    Several arguments are united. Without arguments, or for -, nodesets are read from standard input, one or more per
    line. Quote them: the shell interprets brackets and !. Groups such as @psi need the server and are refused here.
    """


@nodeset.command(
    epilog="""\b
Examples:
  canton nodeset expand 'x1000c0s[0-3]b0n0'
  canton nodeset expand -S ' ' 'login[1-2],x1000c0s0b0n[0-3]!x1000c0s0b0n2'"""
)
@click.option("-S", "--separator", default="\n", metavar="TEXT", help="The text between names; default: a line end.")
@nodesets_argument
@limit_option
def expand(nodesets: tuple[str, ...], limit: int, separator: str) -> None:
    """Print the names, in natural order."""
    names = separator.join(_read(nodesets, limit))
    click.echo(names, nl=bool(names))


@nodeset.command(
    epilog="""\b
Examples:
  canton nodeset fold x1000c0s0b0n0 x1000c0s0b0n1 x1000c0s1b0n0 x1000c0s1b0n1
  canton nodeset fold < names.txt"""
)
@nodesets_argument
@limit_option
def fold(nodesets: tuple[str, ...], limit: int) -> None:
    """Print the names as one folded nodeset."""
    click.echo(str(_read(nodesets, limit)))


@nodeset.command(
    epilog="""\b
Example:
  canton nodeset count 'x1000c[0-7]s[0-7]b[0-1]n[0-1]'"""
)
@nodesets_argument
@limit_option
def count(nodesets: tuple[str, ...], limit: int) -> None:
    """Print the number of different names."""
    click.echo(len(_read(nodesets, limit)))


def _read(arguments: tuple[str, ...], limit: int) -> NodeSet:
    names: set[str] = set()
    for argument in arguments or ("-",):
        for text in _lines() if argument == "-" else (argument,):
            names |= parse(text, limit=limit).names
            if len(names) > limit:
                raise NodesetTooLarge(f"the nodesets have more than {limit:,} nodes; allow more with --limit")
    return NodeSet(frozenset(names))


def _lines() -> Iterator[str]:
    """Standard input, never more at once than a nodeset may be long; what is not ASCII comes as U+FFFD."""
    while line := sys.stdin.buffer.readline(LONGEST_TEXT + 1):
        yield line.decode("ascii", "replace")
