"""The groups of the realm, with their roles and members: those that come with the machine, and those created since."""

from __future__ import annotations

from dataclasses import dataclass, replace

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.keycloak.realm.users import Account, accounts, group_roles, union

_COUNT = "groups"


@dataclass(frozen=True, slots=True)
class Group:
    id: str
    name: str
    roles: tuple[str, ...]
    """Realm roles of all members."""


class Groups:
    def __init__(self, context: Context) -> None:
        self._random = context.random
        self._accounts = accounts(context)
        fixed = group_roles(context)
        ids = {name: self._new_id(name, 0) for name in fixed}
        joined = {name: [ids[group] for group in account.groups] for name, account in self._accounts.items()}
        seed: dict[str, list[Json]] = {ids[name]: [name, list(roles)] for name, roles in fixed.items()}
        self._groups = context.tables.open("keycloak.groups", seed)
        self._joined = context.tables.open("keycloak.memberships", joined)
        self._made = context.tables.open("keycloak.made", {_COUNT: 0})

    def _new_id(self, name: str, number: int) -> str:
        return self._random.uuid("keycloak", "group", name, number)

    def all(self) -> list[Group]:
        """Sorted by name."""
        return sorted(map(self._read, self._groups), key=lambda group: group.name)

    def get(self, identity: str) -> Group | None:
        return self._read(identity) if identity in self._groups else None

    def _read(self, identity: str) -> Group:
        name, roles = self._groups[identity]
        return Group(identity, name, tuple(roles))

    def make(self, name: str) -> Group:
        self._made[_COUNT] += 1
        identity = self._new_id(name, self._made[_COUNT])
        self._groups[identity] = [name, []]
        return self._read(identity)

    def drop(self, group: Group) -> None:
        for account in self.members(group):
            self.leave(account.username, group)
        del self._groups[group.id]

    def give(self, group: Group, roles: tuple[str, ...]) -> None:
        """Replaces the roles of the group."""
        self._groups[group.id] = [group.name, list(roles)]

    def join(self, username: str, group: Group) -> None:
        if group.id not in self._joined[username]:
            self._joined[username] = [*self._joined[username], group.id]

    def leave(self, username: str, group: Group) -> None:
        if group.id in self._joined[username]:
            self._joined[username] = [identity for identity in self._joined[username] if identity != group.id]

    def members(self, group: Group) -> list[Account]:
        return [account for account in self.people() if group.id in self._joined[account.username]]

    def of(self, username: str) -> list[Group]:
        return [self._read(identity) for identity in self._joined[username]]

    def people(self) -> list[Account]:
        """Sorted by name, with their own roles only."""
        return [account for _, account in sorted(self._accounts.items())]

    def account(self, username: str) -> Account | None:
        """The account with its current groups, and with their roles."""
        account = self._accounts.get(username)
        if account is None:
            return None
        groups = self.of(username)
        roles = union(account.realm_roles, *(group.roles for group in groups))
        return replace(account, realm_roles=roles, groups=tuple(group.name for group in groups))
