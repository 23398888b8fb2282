"""The patterns of the OpenAPI description in words, for messages to people."""

from __future__ import annotations

import re

from canton.domain.tenant import NAME

_NAME = "a lower-case name of 2 to 32 letters, digits and dashes that begins with a letter and does not end with a dash"
# A username of an issuer (without "/", so that it cannot look like a group), or a group without its first "/".
SUBJECT = (
    r"^[a-z][a-z0-9-]{0,30}:"
    r"([A-Za-z0-9_][A-Za-z0-9._@+\-]{0,127}|group/[^/\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]{0,199})$"
)
MOMENT = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+\-][0-9]{2}:[0-9]{2})$"
WORDS = {
    f"^{NAME.pattern}$": _NAME,
    f"^(-|{NAME.pattern})$": f'{_NAME}, or "-" for none',
    r"^[a-z][a-z0-9-]{0,62}$": "a lower-case name of up to 63 letters, digits and dashes that begins with a letter",
    SUBJECT: (
        "a person as ISSUER:NAME, such as cscs:alice, or a group as ISSUER:group/NAME, such as cscs:group/psi-ops"
    ),
    r"^[A-Za-z0-9\[\]_.:,/!&\^@ -]+$": "a set of nodes, such as x1000c0s[0-3]b0n0 or nid[001-128]",
    r"^[a-z0-9]{1,64}$": "the name of one node, such as x1000c0s0b0n0 or nid000012",
    r"^sha256:[0-9a-f]{64}$": "the digest of a plan, as a dry run prints it: sha256: and 64 hexadecimal digits",
    r"^[^\x00-\x1f\x7f]{1,300}$": "a text of 1 to 300 characters without control characters",
    r"^[^\x00-\x1f\x7f]*$": "a text without control characters, on one line",
    r"^[!-~]{1,128}$": "1 to 128 visible ASCII characters without spaces",
    r'^"[0-9]{1,9}"$': 'the entity tag of an answer, in quotes, such as "3"',
    r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}Z$": "a moment in UTC, such as 2026-01-31T12:00:00.000000Z",
    MOMENT: "a moment with its offset, such as 2026-01-31T12:00:00Z or 2026-01-31T13:00:00+01:00",
}
_IDENTIFIER = re.compile(r"\^([a-z]{2}_)\[0-9a-f\]\{[0-9,]+\}\$")
_SORT = re.compile(r"\^-\?\(([a-z_|]+)\)\$")


def words(pattern: str) -> str | None:
    """The pattern in words; None if it is not listed here, which a test checks."""
    if identifier := _IDENTIFIER.fullmatch(pattern):
        return f"an identifier that begins with {identifier[1]}, as a list shows it"
    if sort := _SORT.fullmatch(pattern):
        return f'one of {sort[1].replace("|", ", ")}, with a "-" before it to descend'
    return WORDS.get(pattern)
