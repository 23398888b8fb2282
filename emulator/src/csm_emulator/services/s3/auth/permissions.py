"""Who may do what: the lists and the policies of buckets and objects.

The site's keys and the sessions of STS are the owner of everything. Nobody in particular has what a list or a policy
gives to all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

from csm_emulator.services.s3.errors import Refused
from csm_emulator.services.s3.xml import Unreadable, document, element, leaf, parsed, said

OWNER_ID, OWNER_NAME = "STS", "STS User"
_GROUPS = "http://acs.amazonaws.com/groups/global/"
ALL_USERS, ANY_USER = f"{_GROUPS}AllUsers", f"{_GROUPS}AuthenticatedUsers"
_CANNED = {
    "private": (),
    "public-read": ((ALL_USERS, "READ"),),
    "public-read-write": ((ALL_USERS, "READ"), (ALL_USERS, "WRITE")),
    "authenticated-read": ((ANY_USER, "READ"),),
    "bucket-owner-read": (),
    "bucket-owner-full-control": (),
}
_PERMISSIONS = frozenset({"READ", "WRITE", "READ_ACP", "WRITE_ACP", "FULL_CONTROL"})
PRIVATE: list[list[str]] = [[OWNER_ID, "FULL_CONTROL"]]
"""Grants: [a user's name or a group's address, permission] each."""
_XSI = "http://www.w3.org/2001/XMLSchema-instance"


def canned(word: str) -> list[list[str]]:
    if word not in _CANNED:
        raise Refused("InvalidArgument")
    return [*PRIVATE, *([who, what] for who, what in _CANNED[word])]


def owner(name: str = "Owner") -> str:
    return element(name, leaf("ID", OWNER_ID), leaf("DisplayName", OWNER_NAME))


def shown(grants: Iterable[Sequence[str]]) -> bytes:
    listed = [element("Grant", _grantee(who), leaf("Permission", what)) for who, what in grants]
    return document("AccessControlPolicy", owner(), element("AccessControlList", *listed))


def _grantee(who: str) -> str:
    if who.startswith("http"):
        return f'<Grantee xmlns:xsi="{_XSI}" xsi:type="Group">{leaf("URI", who)}</Grantee>'
    inside = leaf("ID", who) + leaf("DisplayName", OWNER_NAME)
    return f'<Grantee xmlns:xsi="{_XSI}" xsi:type="CanonicalUser">{inside}</Grantee>'


def read_grants(body: bytes) -> list[list[str]]:
    try:
        root = parsed(body, "AccessControlPolicy")
    except Unreadable as error:
        raise Refused("MalformedACLError") from error
    return [_grant(node) for node in root.iterfind("AccessControlList/Grant")]


def _grant(node: ElementTree.Element) -> list[str]:
    grantee, what = node.find("Grantee"), said(node, "Permission")
    if grantee is None or what not in _PERMISSIONS:
        raise Refused("MalformedACLError")
    who = said(grantee, "URI") or said(grantee, "ID")
    if who not in (ALL_USERS, ANY_USER, OWNER_ID):
        raise Refused("InvalidArgument")
    return [who, what]


def open_to_all(grants: Iterable[Sequence[str]], what: str) -> bool:
    return any(who == ALL_USERS and given in (what, "FULL_CONTROL") for who, given in grants)


def check_policy(text: bytes) -> str:
    """What is kept; raises ``Refused`` for what is no policy, or asks for what is not looked at here."""
    try:
        kept = text.decode()
        statements = _listed(json.loads(kept)["Statement"])
        sound = all(_is_statement(statement) for statement in statements)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Refused("MalformedPolicy") from error
    if not sound or not statements:
        raise Refused("MalformedPolicy")
    if any(name in statement for statement in statements for name in ("Condition", "NotPrincipal")):
        raise Refused("NotImplemented", "Policies with Condition or NotPrincipal are not supported.")
    return kept


def _is_statement(statement: Any) -> bool:
    if not isinstance(statement, dict):
        return False
    texts = [
        *_listed(statement.get("Action", statement.get("NotAction"))),
        *_listed(statement.get("Resource", statement.get("NotResource"))),
    ]
    fits = all(isinstance(text, str) for text in texts)
    return fits and statement["Effect"] in ("Allow", "Deny") and "Principal" in statement


def verdict(policy: str, action: str, resource: str, *, nobody: bool) -> str:
    """Allow, Deny, or nothing."""
    found = ""
    for statement in _listed(json.loads(policy)["Statement"]):
        if _concerns(statement, action, resource, nobody=nobody):
            if statement["Effect"] == "Deny":
                return "Deny"
            found = "Allow"
    return found


def _concerns(statement: Any, action: str, resource: str, *, nobody: bool) -> bool:
    principal = statement["Principal"]
    users = _listed(principal.get("AWS", ())) if isinstance(principal, dict) else [principal]
    everybody = "*" in users
    if not everybody and (nobody or not any(str(user).rpartition("/")[2] == OWNER_ID for user in users)):
        return False
    return _fits(statement, "Action", action) and _fits(statement, "Resource", resource)


def _fits(statement: Any, name: str, value: str) -> bool:
    if name in statement:
        return any(_like(pattern).fullmatch(value) is not None for pattern in _listed(statement[name]))
    return not any(_like(pattern).fullmatch(value) is not None for pattern in _listed(statement.get(f"Not{name}")))


@lru_cache(maxsize=256)
def _like(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.replace("[", "[[]")))


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
