"""Who may log in: people of the site, people of the owners, and the clients of services."""

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
    """What somebody needs to log in, and what they may then do."""

    username: str
    password: str
    roles: tuple[str, ...]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Account:
    """A person, or the service account of a client."""

    username: str
    name: str = ""
    realm_roles: tuple[str, ...] = ()
    """Their own; those of their groups are not among them."""
    client_roles: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By client; those of ``shasta`` are what OPA looks at."""
    groups: tuple[str, ...] = ()
    password: str = ""


@dataclass(frozen=True, slots=True)
class Client:
    id: str
    secret: str = ""
    """Empty for a public client."""
    account: Account | None = None
    """Who the client itself is, with the client credentials grant."""
    light: bool = False
    """Its access tokens say no more than Keycloak itself needs."""


# Clients that CSM's installation makes, and the roles of their service accounts.
_SERVICES = {
    "admin-client": "admin",
    "system-compute-client": "system-compute",
    "system-nexus-client": "system-nexus",
    "system-pxe-client": "system-pxe",
    SLINGSHOT: "system-slingshot",
    "wlm-client": "wlm",
}


def users(context: Context) -> list[User]:
    """For people to read; the administrator is the first."""
    roles = group_roles(context)
    return [_shown(account, roles) for account in accounts(context).values()]


def _shown(account: Account, roles: Mapping[str, tuple[str, ...]]) -> User:
    of_clients = [role for named in account.client_roles.values() for role in named]
    of_groups = union(account.realm_roles, *(roles[group] for group in account.groups))
    return User(account.username, account.password, (*of_clients, *of_groups), account.groups)


def group_roles(context: Context) -> dict[str, tuple[str, ...]]:
    """The groups that come with the machine, and the realm roles that they give."""
    found: dict[str, tuple[str, ...]] = {}
    for owner in context.machine.topology.owners:
        found[owner.label] = (owner.label,)
        found[tenant_admins(owner.label)] = (TENANT_ADMIN,)
    return found


def tenant_admins(label: str) -> str:
    return f"vcluster-{label}-tenant-admin"


def accounts(context: Context) -> dict[str, Account]:
    """By username. Somebody who belongs to two owners has the roles of both."""
    merged: dict[str, Account] = {}
    for account in _everybody(context.machine.topology.owners):
        known = merged.get(account.username)
        merged[account.username] = _joined(known, account) if known else account
    return {name: _with_password(account, context.random) for name, account in merged.items()}


def _everybody(owners: Iterable[Owner]) -> Iterator[Account]:
    yield Account("admin", "Ada Admin", ("pa_admin",), {SHASTA: ("admin",)})
    yield Account("user", "Uma User", (), {SHASTA: ("user",)})
    yield Account("slingshot-admin", "Sly Slingshot", (), {SLINGSHOT: ("slingshot-admin",)})
    for owner in owners:
        label, surname = owner.label, owner.label.title()
        for username in map(str.lower, owner.users):
            # csm-rs asks HSM with the user's own token, which OPA lets through for ``admin`` alone; what keeps its
            # users apart is the role with the group's name, which csm-rs reads.
            yield Account(username, f"{username.title()} {surname}", (), {SHASTA: ("admin",)}, (label,))
        yield Account(f"{label}-admin", f"Tilda {surname}", (), {}, (tenant_admins(label),))


def _joined(first: Account, second: Account) -> Account:
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


def union(*named: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in named for name in names))


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
    """Two short words that nobody wrote: ``vamu-todi``."""
    digits = int(random.hex(16, "keycloak", "password", username), 16)
    letters = ""
    for alphabet in (_CONSONANTS, _VOWELS) * 4:
        digits, place = divmod(digits, len(alphabet))
        letters += alphabet[place]
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
