"""The error tree: the drawing matches the classes, and every leaf is complete."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

from canton.domain import errors
from canton.domain.errors import CantonError, Remedy

CLASSES = [member for member in vars(errors).values() if inspect.isclass(member) and issubclass(member, CantonError)]
BRANCHES = [member for member in CLASSES if member.__base__ is CantonError]
LEAVES = [member for member in CLASSES if member is not CantonError and member not in BRANCHES]


def drawn() -> list[str]:
    """The lines of the tree in the module's docstring."""
    lines = (inspect.getdoc(errors) or "").splitlines()
    return [line.rstrip() for line in lines if re.match(r"    [ │├└─]*[A-Z]", line)]


def draw(cls: type[CantonError], indent: str = "") -> Iterator[str]:
    """The tree as it follows from the classes below one."""
    below = [error for error in CLASSES if error.__base__ is cls]
    for error in below:
        last = error is below[-1]
        yield f"{indent}{'└' if last else '├'}── {error.__name__}"
        yield from draw(error, indent + ("    " if last else "│   "))


def test_the_drawn_tree_is_the_tree() -> None:
    names = [re.sub(r"(\w) .*", r"\1", line.removeprefix("    ")) for line in drawn()]
    assert names == ["CantonError", *draw(CantonError)]


@pytest.mark.parametrize("branch", BRANCHES)
def test_the_drawn_words_and_status_are_the_branchs(branch: type[CantonError]) -> None:
    (line,) = (line for line in drawn() if line.split()[1:2] == [branch.__name__])
    words, status = re.split(r"\s{2,}", line.split(branch.__name__)[1].strip())
    assert (branch.__doc__ or "").lower().startswith(words.lower())
    assert branch.status == int(status)


def test_a_leaf_hangs_on_a_branch() -> None:
    assert {leaf.__base__ for leaf in LEAVES} == set(BRANCHES)


def test_codes_are_unique() -> None:
    codes = [error.code for error in CLASSES if error is not CantonError]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("cls", [*BRANCHES, *LEAVES])
def test_a_code_spells_its_class(cls: type[CantonError]) -> None:
    assert vars(cls)["code"] == re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_leaf_is_complete(leaf: type[CantonError]) -> None:
    (branch,) = (branch for branch in BRANCHES if issubclass(leaf, branch))
    (line,) = (line for line in drawn() if leaf.__name__ in line.split())
    own = re.findall(r"\d+$", line)
    assert [str(leaf.status)] == (own or [str(branch.status)]), "the drawn tree tells it"
    assert 400 <= leaf.status < 600
    assert 1 <= leaf.exit_code < 126, "0 is success and a shell keeps 126 and more for itself"
    assert isinstance(leaf.remedy, Remedy)
    assert vars(leaf)["__doc__"], "docs/reference/errors.md shows it as the meaning"


def test_an_error_carries_its_message_and_its_facts() -> None:
    error = errors.NodesClaimed("x1000c0s0b0n0 is claimed by op_7 for 'reboot'", operation="op_7")
    assert str(error) == error.message == "x1000c0s0b0n0 is claimed by op_7 for 'reboot'"
    assert error.details == {"operation": "op_7"}
