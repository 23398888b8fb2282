"""Unusual but legal values for the fields of the services."""

from __future__ import annotations

from hypothesis import strategies as st

# PostgreSQL has no NUL, and UTF-8 has no half of a surrogate pair.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=80)
SHORT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=32)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9, width=32) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXT, JSON_VALUES, max_size=4)
LABELS = st.text("abcdefghijklmnopqrstuvwxyz0123456789-_.:", min_size=1, max_size=40).filter(
    lambda label: label.strip(".") == label  # a segment of a path must not be ``.`` or ``..``
)
NODES = [f"x1000c0s{slot}b{bmc}n{node}" for slot in (0, 1) for bmc in (0, 1) for node in (0, 1)]
NEW_NODES = st.builds(
    "x{}c{}s{}b{}n{}".format,
    st.integers(2000, 2999),
    st.integers(0, 7),
    st.integers(0, 63),
    st.integers(0, 1),
    st.integers(0, 7),
)
NEW_BMCS = NEW_NODES.map(lambda node: node.rpartition("n")[0])
MACS = st.integers(0, 2**48 - 1).map(lambda number: number.to_bytes(6, "big").hex(":"))
ADDRESSES = st.ip_addresses(v=4).map(str)
NIDS = st.integers(100_000, 2**31 - 1)
ROLES = st.sampled_from(["Compute", "Service", "System", "Application", "Storage", "Management"])
STATES = st.sampled_from(["Unknown", "Empty", "Populated", "Off", "On", "Standby", "Halt", "Ready"])
