"""From claims to bindings, by rules that a site sets: pure, exact, and empty unless something matches.

A pattern matches a whole value or not at all: the role ``psi`` says nothing about ``psi2``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from canton.contracts.identity import ClaimBinding
from canton.domain import tenant
from canton.domain.errors import InvalidSetting

PLACEHOLDER = "{tenant}"
NOT_TENANTS = ("offline_access", "uma_authorization", "default-roles-*")
"""Realm roles that Keycloak gives to everybody."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Whoever has a value that looks like ``match`` in ``claim`` has ``role``.

    ``claim`` is a path such as ``realm_access.roles``. ``match`` is plain text, with ``{tenant}`` where the name of a
    tenant stands. ``tenant`` is None for a role at the provider, ``{tenant}`` for the tenant found, or a fixed name.
    ``except_`` are values and names that never count; one may end in ``*``.
    """

    claim: str
    match: str
    role: str
    tenant: str | None = None
    except_: tuple[str, ...] = NOT_TENANTS

    def __post_init__(self) -> None:
        where = f'the rule "{self.match}" for claim "{self.claim}"'
        if not all(self.claim.split(".")) or not self.match or not self.role:
            raise InvalidSetting(f"{where} is not complete; it needs a claim, a match and a role")
        if set("{}*") & set(self.match.replace(PLACEHOLDER, "", 1)):
            raise InvalidSetting(
                f"{where} may hold {PLACEHOLDER} once and no other brace or *; it is not a regular expression"
            )
        # A placeholder that nothing uses would match any name and give everybody the same right.
        if (PLACEHOLDER in self.match) != (self.tenant == PLACEHOLDER):
            raise InvalidSetting(f"{where} must have {PLACEHOLDER} both in match and as tenant, or in neither")
        if self.tenant not in (None, PLACEHOLDER) and not tenant.is_name(self.tenant or ""):
            raise InvalidSetting(f'{where} names the tenant "{self.tenant}", which is not a name of a tenant')


def bindings_of(claims: Mapping[str, object], rules: tuple[Rule, ...]) -> tuple[ClaimBinding, ...]:
    """Each once, in the order of the rules."""
    found = dict.fromkeys(
        binding for rule in rules for value in values_at(claims, rule.claim) for binding in _bound(rule, value)
    )
    return tuple(found)


def values_at(claims: Mapping[str, object], path: str) -> Iterator[str]:
    """The texts at ``path``: one, or those of a list; anything else there is nothing."""
    here: object = claims
    for part in path.split("."):
        if not isinstance(here, Mapping):
            return
        here = here.get(part)
    if isinstance(here, str):
        yield here
    elif isinstance(here, list):
        yield from (value for value in here if isinstance(value, str))


def _bound(rule: Rule, value: str) -> Iterator[ClaimBinding]:
    before, placeholder, after = rule.match.partition(PLACEHOLDER)
    wanted = re.escape(before) + (f"({tenant.NAME.pattern})" if placeholder else "") + re.escape(after)
    found = re.fullmatch(wanted, value, re.ASCII)
    if found is None:
        return
    names = {value, *found.groups()}
    if not any(_excepted(name, exception) for name in names for exception in rule.except_):
        yield ClaimBinding(rule.role, found[1] if placeholder else rule.tenant)


def _excepted(name: str, exception: str) -> bool:
    return name.startswith(exception[:-1]) if exception.endswith("*") else name == exception


def preset(name: str) -> tuple[Rule, ...]:
    presets = {"csm": _csm(), "keycloak-groups": _keycloak_groups(), "flat": _flat()}
    if name not in presets:
        near = difflib.get_close_matches(name, presets, 1, 0.4)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise InvalidSetting(f'there is no mapping called "{name}"; choose one of {", ".join(presets)}{hint}')
    return presets[name]


def _csm() -> tuple[Rule, ...]:
    """CSM gives every group of nodes a realm role of the same name; these are the realm's own, not groups."""
    others = (*NOT_TENANTS, "admin", "user", "tenant-admin", "monitor-ro", "wlm")
    return (
        Rule("realm_access.roles", "pa_admin", "provider-admin"),
        Rule("realm_access.roles", PLACEHOLDER, "tenant-operator", PLACEHOLDER, others),
    )


def _keycloak_groups() -> tuple[Rule, ...]:
    provider = {"admins": "provider-admin", "operators": "provider-operator", "auditors": "auditor"}
    tenants = {"admins": "tenant-admin", "operators": "tenant-operator", "viewers": "tenant-viewer"}
    return (
        *(Rule("groups", f"/provider/{group}", role) for group, role in provider.items()),
        *(Rule("groups", f"/tenants/{PLACEHOLDER}/{group}", role, PLACEHOLDER) for group, role in tenants.items()),
    )


def _flat() -> tuple[Rule, ...]:
    claims = ("realm_access.roles", "roles")
    provider = ("provider-admin", "provider-operator", "auditor")
    tenants = ("tenant-admin", "tenant-operator", "tenant-viewer")
    return (
        *(Rule(claim, f"canton-{role}", role) for claim in claims for role in provider),
        *(Rule(claim, f"canton-{role}:{PLACEHOLDER}", role, PLACEHOLDER) for claim in claims for role in tenants),
    )
