"""Small pools of names, so that they collide, and ways to spoil a valid value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from differential.sequence import Step, ask

Json = Any
Steps = st.SearchStrategy[Step]
Values = st.SearchStrategy[Json]

NODES = ("x0c0s0b0n0", "x0c0s0b0n1", "x0c0s1b0n0", "x3000c0s9b0n0")
CONTROLLERS = ("x0c0s0b0", "x0c0s1b0", "x0c0b0", "x0c0r1b0")
OTHERS = ("x0c0s0", "x0c0", "x0", "x0c0r1", "s0", "x3000m0", "x3000c0w14")
ODD_XNAMES = ("X0C0S0B0N0", "x00c0s0b0n0", "x0c0s0b0n00", "foo", "x0c0s0b0n0 ", "", "all", "s0")

nodes = st.sampled_from(NODES)
xnames = st.one_of(nodes, st.sampled_from(NODES + CONTROLLERS + OTHERS), st.sampled_from(ODD_XNAMES))
# In a path only names that stay one segment.
path_xnames = st.one_of(
    nodes, nodes, st.sampled_from(NODES + CONTROLLERS + OTHERS + ("X0C0S0B0N0", "x00c0s0b0n0", "foo"))
)
node_lists = st.lists(st.one_of(nodes, nodes, nodes, xnames), max_size=4)

STATES = ("On", "Off", "Ready", "Standby", "Populated", "Empty", "Halt", "Unknown", "on", "Broken")
FLAGS = ("OK", "Warning", "Alert", "Unknown", "Locked", "ok", "Red")
ROLES = ("Compute", "Service", "Management", "Application", "Storage", "System", "compute", "Cook")
SUBROLES = ("Worker", "Master", "Storage", "worker", "Waiter")
ARCHES = ("X86", "ARM", "Other", "UNKNOWN", "x86", "RISC")
CLASSES = ("River", "Mountain", "Hill", "river", "Lake")
TYPES = ("Node", "NodeBMC", "Chassis", "node", "Nonsense")

garbage: Values = st.sampled_from(
    (
        None,
        True,
        False,
        0,
        -1,
        1.5,
        1e300,
        2**70,
        "",
        "x",
        "ä\u0000",
        [],
        ["x"],
        [None],
        [1],
        {},
        {"ID": 1},
        [[]],
        "a" * 300,
    )
)
raw_garbage = st.sampled_from(
    (b"", b"{", b"null", b"[]", b"{}", b'"x"', b"1", b"true", b"\xff\xfe", b"{}{}", b'{"a":1,}', b'[{"a":1}]', b"{" * 5)
)


@st.composite
def spoiled(draw: st.DrawFn, valid: Values, often: int = 5) -> Json:
    """Mostly the valid value; one time in ``often`` one field is missing, unknown, in the wrong case or garbage."""
    value = draw(valid)
    if not isinstance(value, dict) or draw(st.integers(1, often)) != 1:
        return value
    how = draw(st.sampled_from(("lose", "garble", "add", "case", "whole")))
    if how == "whole":
        return draw(garbage)
    if how == "add" or not value:
        return {**value, draw(st.sampled_from(("Extra", "id", "ID", "uuid"))): draw(garbage)}
    name = draw(st.sampled_from(sorted(value)))
    remaining = {key: inner for key, inner in value.items() if key != name}
    if how == "lose":
        return remaining
    return {**remaining, name.swapcase(): value[name]} if how == "case" else {**remaining, name: draw(garbage)}


def some(optional: Mapping[str, Values], **always: Values) -> Values:
    """An object with some of the optional fields."""
    return st.fixed_dictionaries(dict(always), optional=dict(optional))


def sends(
    method: str, path: st.SearchStrategy[str] | str, body: Values, keep: Mapping[str, str] | None = None
) -> Steps:
    """A request with this body, sometimes with a broken one."""
    paths = st.just(path) if isinstance(path, str) else path
    good = st.builds(lambda to, content: ask(method, to, content, keep=keep or {}), paths, spoiled(body))
    broken = st.builds(lambda to, content: ask(method, to, raw=content), paths, raw_garbage)
    return st.integers(1, 12).flatmap(lambda random: broken if random == 1 else good)


def asks(method: str, path: st.SearchStrategy[str] | str) -> Steps:
    paths = st.just(path) if isinstance(path, str) else path
    return paths.map(lambda to: ask(method, to))


def under(prefix: str, names: st.SearchStrategy[str], suffix: str = "") -> st.SearchStrategy[str]:
    return names.map(lambda name: f"{prefix}/{name}{suffix}")


def queried(path: str, fields: Mapping[str, st.SearchStrategy[str]], at_most: int = 3) -> st.SearchStrategy[str]:
    """The path with a few query fields, some twice and some unknown."""
    field = st.sampled_from(sorted(fields)).flatmap(lambda name: fields[name].map(lambda value: f"{name}={value}"))
    foreign = st.sampled_from(("nonsense=1", "=", "type", "id=", "%20=x"))
    one = st.integers(1, 15).flatmap(lambda random: foreign if random == 1 else field)
    return st.lists(one, max_size=at_most).map(lambda pairs: f"{path}?{'&'.join(pairs)}" if pairs else path)
