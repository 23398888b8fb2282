"""The roles of the realm. They are fixed: the emulator does not create roles."""

from __future__ import annotations

from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.records import Record
from csm_emulator.services.keycloak.realm.users import TENANT_ADMIN, accounts, group_roles

# The roles of every realm. The descriptions are names of texts in Keycloak's console.
_BUILT_IN = {
    "default-roles-shasta": "${role_default-roles}",
    "offline_access": "${role_offline-access}",
    "uma_authorization": "${role_uma_authorization}",
}


@dataclass(frozen=True, slots=True)
class Role:
    id: str
    name: str
    realm: str
    """The id of the realm."""
    description: str = ""

    def view(self, *, brief: bool) -> Record:
        return {
            "id": self.id,
            "name": self.name,
            **({"description": self.description} if self.description else {}),
            "composite": self.name.startswith("default-roles-"),
            "clientRole": False,
            "containerId": self.realm,
            **({} if brief else {"attributes": {}}),
        }


def realm_roles(context: Context) -> dict[str, Role]:
    """By name, sorted by name."""
    of_people = {role for account in accounts(context).values() for role in account.realm_roles}
    of_groups = {role for roles in group_roles(context).values() for role in roles}
    realm = context.random.uuid("keycloak", "realm", "shasta")
    return {
        name: Role(context.random.uuid("keycloak", "role", name), name, realm, _BUILT_IN.get(name, ""))
        for name in sorted({*_BUILT_IN, TENANT_ADMIN, *of_people, *of_groups})
    }
