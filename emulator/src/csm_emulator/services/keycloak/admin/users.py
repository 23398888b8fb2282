"""Users in the administration API: search, and membership in groups."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from csm_emulator.records import Record
from csm_emulator.services.keycloak.admin.groups import ADMIN, group_of, group_view, search
from csm_emulator.services.keycloak.admin.responses import NO_CONTENT, Denied, flag, json_view, page_of
from csm_emulator.services.keycloak.realm.groups import Groups
from csm_emulator.services.keycloak.realm.realm import Realm
from csm_emulator.services.keycloak.realm.users import Account
from csm_emulator.services.keycloak.responses import NO_CACHE
from csm_emulator.services.keycloak.tokens import profile
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Handler

_ONE = f"{ADMIN}/users/{{user}}"
_MEMBERSHIP = f"{_ONE}/groups/{{group}}"
_FIELDS = ("username", "firstName", "lastName", "email")
_ACCESS = ("manageGroupMembership", "resetPassword", "view", "mapRoles", "impersonate", "manage")
_DEFAULT_LIMIT = 100
"""Users that are listed without ``max``."""
_CREATED = 1_700_000_000_000
"""The creation time of all users, in milliseconds."""
_MEMBERSHIP_CHANGED = replace(NO_CONTENT, headers=(*NO_CACHE, *NO_CONTENT.headers))


class AdminUsers:
    def __init__(self, realm: Realm, groups: Groups) -> None:
        self._realm = realm
        self._groups = groups
        self._names = {realm.subject(account): account.username for account in groups.people()}

    def table(self) -> Sequence[tuple[str, str, Handler]]:
        return [
            ("GET HEAD", f"{ADMIN}/users", self._list),
            ("GET HEAD", _ONE, self._show),
            ("GET HEAD", f"{_ONE}/groups", self._list_groups),
            ("PUT", _MEMBERSHIP, self._join),
            ("DELETE", _MEMBERSHIP, self._leave),
            ("GET HEAD", f"{ADMIN}/groups/{{group}}/members", self._members),
        ]

    def _name(self, call: Call) -> str:
        username = self._names.get(call.args["user"])
        if username is None:
            raise Denied(404, "User not found")
        return username

    def _list(self, call: Call) -> Reply:
        matches = [user for user in self._views(call, self._groups.people()) if _matches(call, user)]
        return json_view([{**user, "access": {"manage": True}} for user in page_of(call, matches, _DEFAULT_LIMIT)])

    def _show(self, call: Call) -> Reply:
        username = self._name(call)
        account = next(account for account in self._groups.people() if account.username == username)
        return json_view({**self._view(account, brief=False), "access": dict.fromkeys(_ACCESS, True)})

    def _members(self, call: Call) -> Reply:
        group = group_of(self._groups, call, "Could not find group by id")
        return json_view(page_of(call, self._views(call, self._groups.members(group)), _DEFAULT_LIMIT))

    def _list_groups(self, call: Call) -> Reply:
        joined = sorted(self._groups.of(self._name(call)), key=lambda group: group.name)
        brief = flag(call, "briefRepresentation", default=True)
        return json_view([group_view(group, brief=brief) for group in page_of(call, search(call, joined))])

    def _join(self, call: Call) -> Reply:
        username = self._name(call)
        self._groups.join(username, group_of(self._groups, call, "Group not found"))
        return _MEMBERSHIP_CHANGED

    def _leave(self, call: Call) -> Reply:
        username = self._name(call)
        self._groups.leave(username, group_of(self._groups, call, "Group not found"))
        return _MEMBERSHIP_CHANGED

    def _views(self, call: Call, accounts: Sequence[Account]) -> list[Record]:
        brief = flag(call, "briefRepresentation", default=False)
        return [self._view(account, brief=brief) for account in accounts]

    def _view(self, account: Account, *, brief: bool) -> Record:
        claims = profile(account)
        more = {"totp": False, "disableableCredentialTypes": [], "requiredActions": [], "notBefore": 0}
        return {
            "id": self._realm.subject(account),
            "username": account.username,
            "firstName": claims["given_name"],
            "lastName": claims["family_name"],
            "email": claims["email"],
            "emailVerified": True,
            "enabled": True,
            "createdTimestamp": _CREATED,
            **({} if brief else more),
        }


def _matches(call: Call, user: Record) -> bool:
    """``search`` takes precedence over the filters by field, all of which must match."""
    values = {field: user[field].lower() for field in _FIELDS}
    if call.has("search"):
        terms = map(_pattern, call.first("search").lower().split())
        return all(any(term.fullmatch(value) for value in values.values()) for term in terms)
    exact = flag(call, "exact", default=False)
    filters = {field: call.first(field).lower() for field in _FIELDS if call.first(field)}
    return all(text == values[field] if exact else text in values[field] for field, text in filters.items())


def _pattern(term: str) -> re.Pattern[str]:
    """A prefix, with ``*`` for any text; a term in quotation marks matches the whole value."""
    if len(term) > 1 and term[0] == term[-1] == '"':
        return re.compile(re.escape(term[1:-1]))
    return re.compile(".*".join(map(re.escape, term.split("*"))) + ".*")
