"""Nodesets: sets of node names, written folded as ``x1000c0s[0-3]b0n[0-1]``.

Grammar, limits and error messages are in ``nodeset_parse``, natural order and folding in ``nodeset_fold``.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from canton.domain.errors import InvalidNodeset, UnknownNodes
from canton.domain.nodeset import fold as nodeset_fold
from canton.domain.nodeset import parse as nodeset_parse
from canton.domain.nodeset.parse import Resolve

# Ten times the largest machine in view: enough for every honest request, small enough to unfold in a moment.
LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class NodeSet:
    """A set of node names. Iterates in natural order; ``str()`` is the folded text, the same for equal sets."""

    names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not all(map(nodeset_parse.is_name, self.names)):
            refused = min(name for name in self.names if not nodeset_parse.is_name(name))
            raise InvalidNodeset(
                f"{refused[:60]!a} is not a node name; a name has letters, digits and -_.: only, starts with a "
                f"letter or a digit, and has at most {nodeset_parse.LONGEST_NAME} characters"
            )

    def __str__(self) -> str:
        return nodeset_fold.fold(self.names)

    def __iter__(self) -> Iterator[str]:
        return iter(nodeset_fold.natural(self.names))

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __or__(self, other: NodeSet) -> NodeSet:
        return NodeSet(self.names | other.names)

    def __and__(self, other: NodeSet) -> NodeSet:
        return NodeSet(self.names & other.names)

    def __sub__(self, other: NodeSet) -> NodeSet:
        return NodeSet(self.names - other.names)

    def __xor__(self, other: NodeSet) -> NodeSet:
        return NodeSet(self.names ^ other.names)

    def __le__(self, other: NodeSet) -> bool:
        return self.names <= other.names


def parse(text: str, resolve: Resolve | None = None, limit: int = LIMIT) -> NodeSet:
    """Read a nodeset; ``resolve`` gives the nodes of a group (``psi`` or ``psi/alps``) or raises UnknownGroup."""
    return parse_counted(text, resolve, limit)[0]


def parse_counted(text: str, resolve: Resolve | None = None, limit: int = LIMIT) -> tuple[NodeSet, int]:
    """The nodeset, and how many names the text writes, before set operations: what it cost to read."""
    names, written = nodeset_parse.names_in(text, resolve, limit)
    return NodeSet(frozenset(names)), written


def fold(names: Iterable[str]) -> str:
    """The names as one nodeset, folded and canonical."""
    return str(NodeSet(frozenset(names)))


def expand(text: str, resolve: Resolve | None = None, limit: int = LIMIT) -> list[str]:
    """The names that a nodeset stands for, in natural order."""
    return list(parse(text, resolve, limit))


def count(text: str, resolve: Resolve | None = None, limit: int = LIMIT) -> int:
    """How many nodes a nodeset stands for."""
    return len(parse(text, resolve, limit))


def check_known(nodeset: NodeSet, known: Container[str]) -> None:
    """Raise UnknownNodes, with exactly the nodes that are not known, if there are any."""
    unknown = fold(name for name in nodeset.names if name not in known)
    if unknown:
        raise UnknownNodes(
            f"no such nodes: {unknown}; check the names against the inventory of this site", nodes=unknown
        )
