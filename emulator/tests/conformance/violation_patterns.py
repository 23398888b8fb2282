"""Parts of the patterns that the known differences are written with."""

from __future__ import annotations

PROBLEM = r"Undocumented Content-Type: Received: application/problem\+json"
STATUS = r"Undocumented status code: Received: "
TEXT = r"Undocumented Content-Type: Received: text/plain; charset=utf-8"
SCHEMA = "Response violates schema at "
NULL = "NoneType is of the wrong type"


def more(names: str) -> str:
    """A reply with these additional properties, which the file does not name."""
    return rf"Additional properties are not allowed \(('({names})'(, )?)+ (was|were) unexpected\)"
