"""The accounts of the realm: users of the site and of the owners, and the clients of services."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from csm_emulator.context import Context
from csm_emulator.machine.parts import Owner
from csm_emulator.seed_data.secrets import client_secret
from csm_emulator.state.random import SeededRandom

SHASTA = "shasta"
SLINGSHOT = "system-slingshot-client"
TENANT_ADMIN = "tenant-admin"

_CONSONANTS, _VOWELS = "bdfghklmnprstvz", "aeiou"


@dataclass(frozen=True, slots=True)
class User:
    """Login and rights of a user, as the emulator prints them."""

    username: str
    password: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """A user, or the service account of a client."""

    username: str
    name: str = ""
    realm_roles: tuple[str, ...] = ()
    """The account's own roles, without those of its groups."""
    client_roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By client. OPA checks those of ``shasta``."""
    groups: tuple[str, ...] = ()
    password: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    id: str
    secret: str = ""
    """Empty for a public client."""
    account: Account | None = None
    """The service account, for the client credentials grant."""
    light: bool = False
    """Its access tokens have only the claims that Keycloak itself needs."""


# The clients that CSM's installation creates, and the roles of their service accounts.
_SERVICES = {
    "admin-client": "admin",
    "system-compute-client": "system-compute",
    "system-nexus-client": "system-nexus",
    "system-pxe-client": "system-pxe",
    SLINGSHOT: "system-slingshot",
    "wlm-client": "wlm",
}


def users(context: Context) -> list[User]:
    """All users, to be printed; the administrator is the first."""
    roles = group_roles(context)
    return [_user(account, roles) for account in accounts(context).values()]


def _user(account: Account, roles: Mapping[str, tuple[str, ...]]) -> User:
    of_clients = [role for names in account.client_roles.values() for role in names]
    of_groups = union(account.realm_roles, *(roles[group] for group in account.groups))
    return User(account.username, account.password, (*of_clients, *of_groups), account.groups)


def group_roles(context: Context) -> dict[str, tuple[str, ...]]:
    """The groups that come with the machine, and their realm roles."""
    roles: dict[str, tuple[str, ...]] = {}
    for owner in context.machine.topology.owners:
        roles[owner.label] = (owner.label,)
        roles[tenant_admins(owner.label)] = (TENANT_ADMIN,)
    return roles


def tenant_admins(label: str) -> str:
    return f"vcluster-{label}-tenant-admin"


def accounts(context: Context) -> dict[str, Account]:
    """By username. A user of two owners has the roles of both."""
    merged: dict[str, Account] = {}
    for account in _all_accounts(context.machine.topology.owners):
        earlier = merged.get(account.username)
        merged[account.username] = _merged(earlier, account) if earlier else account
    return {name: _with_password(account, context.random) for name, account in merged.items()}


def _all_accounts(owners: Iterable[Owner]) -> Iterator[Account]:
    yield Account("admin", "Ada Admin", ("pa_admin",), {SHASTA: ("admin",)})
    yield Account("user", "Uma User", (), {SHASTA: ("user",)})
    yield Account("slingshot-admin", "Sly Slingshot", (), {SLINGSHOT: ("slingshot-admin",)})
    for owner in owners:
        label, surname = owner.label, owner.label.title()
        for username in map(str.lower, owner.users):
            # csm-rs calls HSM with the user's own token, which OPA allows for ``admin`` only. It separates its users by
            # the role with the name of the group.
            yield Account(username, f"{username.title()} {surname}", (), {SHASTA: ("admin",)}, (label,))
        yield Account(f"{label}-admin", f"Tilda {surname}", (), {}, (tenant_admins(label),))


def _merged(first: Account, second: Account) -> Account:
    clients = {
        client: union(first.client_roles.get(client, ()), second.client_roles.get(client, ()))
        for client in (*first.client_roles, *second.client_roles)
    }
    return Account(
        first.username,
        first.name,
        union(first.realm_roles, second.realm_roles),
        clients,
        union(first.groups, second.groups),
    )


def union(*name_lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in name_lists for name in names))


def _with_password(account: Account, random: SeededRandom) -> Account:
    return Account(
        account.username,
        account.name,
        account.realm_roles,
        account.client_roles,
        account.groups,
        _password(account.username, random),
    )


def _password(username: str, random: SeededRandom) -> str:
    """A generated password of two short words: ``vamu-todi``."""
    digits = int(random.hex(16, "keycloak", "password", username), 16)
    letters = ""
    for alphabet in (_CONSONANTS, _VOWELS) * 4:
        digits, index = divmod(digits, len(alphabet))
        letters += alphabet[index]
    return f"{letters[:4]}-{letters[4:]}"


def clients(context: Context) -> dict[str, Client]:
    services = {
        name: Client(
            name,
            client_secret(context.random, name),
            Account(f"service-account-{name}", client_roles={SHASTA: (role,)}),
        )
        for name, role in _SERVICES.items()
    }
    return {SHASTA: Client(SHASTA), **services}
