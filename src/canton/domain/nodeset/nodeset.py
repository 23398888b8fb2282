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

# Ten times the largest expected machine, and still unfolded in a fraction of a second.
LIMIT = 100_000


@dataclass(frozen=True, slots=True)
class NodeSet:
    """A set of node names. Iterates in natural order; ``str()`` is the folded text, the same for equal sets."""

    names: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not all(map(nodeset_parse.is_name, self.names)):
            invalid = min(name for name in self.names if not nodeset_parse.is_name(name))
            raise InvalidNodeset(
                f"{invalid[:60]!a} is not a node name; a name has letters, digits and -_.: only, starts with a "
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

    def __or__(self, right: NodeSet) -> NodeSet:
        return NodeSet(self.names | right.names)

    def __and__(self, right: NodeSet) -> NodeSet:
        return NodeSet(self.names & right.names)

    def __sub__(self, right: NodeSet) -> NodeSet:
        return NodeSet(self.names - right.names)

    def __xor__(self, right: NodeSet) -> NodeSet:
        return NodeSet(self.names ^ right.names)

    def __le__(self, right: NodeSet) -> bool:
        return self.names <= right.names


def parse(text: str, resolve: Resolve | None = None, limit: int = LIMIT) -> NodeSet:
    """Read a nodeset; ``resolve`` gives the nodes of a group (``psi`` or ``psi/alps``) or raises UnknownGroup."""
    return parse_counted(text, resolve, limit)[0]


def parse_counted(text: str, resolve: Resolve | None = None, limit: int = LIMIT) -> tuple[NodeSet, int]:
    """The nodeset, and the number of names in the text before set operations, which is the cost of reading it."""
    names, cost = nodeset_parse.names_in(text, resolve, limit)
    return NodeSet(frozenset(names)), cost


def fold(names: Iterable[str]) -> str:
    """The names as one nodeset, folded and canonical."""
    return str(NodeSet(frozenset(names)))


def expand(text: str, resolve: Resolve | None = None, limit: int = LIMIT) -> list[str]:
    """The names that a nodeset stands for, in natural order."""
    return list(parse(text, resolve, limit))


def count(text: str, resolve: Resolve | None = None, limit: int = LIMIT) -> int:
    """How many nodes a nodeset stands for."""
    return len(parse(text, resolve, limit))


def check_known(nodeset: NodeSet, inventory: Container[str]) -> None:
    """Raise UnknownNodes, with the nodes that are not in the inventory, if there are any."""
    unknown = fold(name for name in nodeset.names if name not in inventory)
    if unknown:
        raise UnknownNodes(
            f"no such nodes: {unknown}; check the names against the inventory of this site", nodes=unknown
        )
