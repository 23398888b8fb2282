"""Permissions: ACLs and policies of buckets and objects.

The site's keys and the sessions of STS own everything. An anonymous caller has the permissions that an ACL or a policy
grants to all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from functools import lru_cache
from xml.etree import ElementTree

from csm_emulator.records import Json
from csm_emulator.services.s3.errors import S3Error
from csm_emulator.services.s3.xml import XmlError, child_text, document, element, leaf, parse

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
"""Grants: [name of a user or URI of a group, permission] each."""
_XSI = "http://www.w3.org/2001/XMLSchema-instance"


def canned_acl(name: str) -> list[list[str]]:
    if name not in _CANNED:
        raise S3Error("InvalidArgument")
    return [*PRIVATE, *([grantee, permission] for grantee, permission in _CANNED[name])]


def owner(name: str = "Owner") -> str:
    return element(name, leaf("ID", OWNER_ID), leaf("DisplayName", OWNER_NAME))


def acl_document(grants: Iterable[Sequence[str]]) -> bytes:
    elements = [
        element("Grant", _grantee_element(grantee), leaf("Permission", permission)) for grantee, permission in grants
    ]
    return document("AccessControlPolicy", owner(), element("AccessControlList", *elements))


def _grantee_element(grantee: str) -> str:
    if grantee.startswith("http"):
        return f'<Grantee xmlns:xsi="{_XSI}" xsi:type="Group">{leaf("URI", grantee)}</Grantee>'
    identity = leaf("ID", grantee) + leaf("DisplayName", OWNER_NAME)
    return f'<Grantee xmlns:xsi="{_XSI}" xsi:type="CanonicalUser">{identity}</Grantee>'


def read_grants(body: bytes) -> list[list[str]]:
    try:
        root = parse(body, "AccessControlPolicy")
    except XmlError as error:
        raise S3Error("MalformedACLError") from error
    return [_grant(node) for node in root.iterfind("AccessControlList/Grant")]


def _grant(node: ElementTree.Element) -> list[str]:
    grantee, permission = node.find("Grantee"), child_text(node, "Permission")
    if grantee is None or permission not in _PERMISSIONS:
        raise S3Error("MalformedACLError")
    grantee_id = child_text(grantee, "URI") or child_text(grantee, "ID")
    if grantee_id not in (ALL_USERS, ANY_USER, OWNER_ID):
        raise S3Error("InvalidArgument")
    return [grantee_id, permission]


def open_to_all(grants: Iterable[Sequence[str]], requested: str) -> bool:
    return any(grantee == ALL_USERS and permission in (requested, "FULL_CONTROL") for grantee, permission in grants)


def check_policy(text: bytes) -> str:
    """The policy to store; raises ``S3Error`` for an invalid one, and for conditions, which are not supported."""
    try:
        decoded = text.decode()
        statements = _as_list(json.loads(decoded)["Statement"])
        valid = all(_is_statement(statement) for statement in statements)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise S3Error("MalformedPolicy") from error
    if not valid or not statements:
        raise S3Error("MalformedPolicy")
    if any(name in statement for statement in statements for name in ("Condition", "NotPrincipal")):
        raise S3Error("NotImplemented", "Policies with Condition or NotPrincipal are not supported.")
    return decoded


def _is_statement(statement: Json) -> bool:
    if not isinstance(statement, dict):
        return False
    texts = [
        *_as_list(statement.get("Action", statement.get("NotAction"))),
        *_as_list(statement.get("Resource", statement.get("NotResource"))),
    ]
    all_texts = all(isinstance(text, str) for text in texts)
    return all_texts and statement["Effect"] in ("Allow", "Deny") and "Principal" in statement


def verdict(policy: str, action: str, resource: str, *, anonymous: bool) -> str:
    """Allow, Deny, or an empty text when the policy decides nothing."""
    decision = ""
    for statement in _as_list(json.loads(policy)["Statement"]):
        if _applies(statement, action, resource, anonymous=anonymous):
            if statement["Effect"] == "Deny":
                return "Deny"
            decision = "Allow"
    return decision


def _applies(statement: Json, action: str, resource: str, *, anonymous: bool) -> bool:
    principal = statement["Principal"]
    users = _as_list(principal.get("AWS", ())) if isinstance(principal, dict) else [principal]
    for_all = "*" in users
    if not for_all and (anonymous or not any(str(user).rpartition("/")[2] == OWNER_ID for user in users)):
        return False
    return _matches(statement, "Action", action) and _matches(statement, "Resource", resource)


def _matches(statement: Json, name: str, value: str) -> bool:
    if name in statement:
        return any(_pattern(pattern).fullmatch(value) is not None for pattern in _as_list(statement[name]))
    return not any(_pattern(pattern).fullmatch(value) is not None for pattern in _as_list(statement.get(f"Not{name}")))


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.replace("[", "[[]")))


def _as_list(value: Json) -> list[Json]:
    if value is None:
        return []
    return list(value) if isinstance(value, list | tuple) else [value]
