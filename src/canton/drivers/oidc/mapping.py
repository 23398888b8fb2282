"""Turns claims into bindings by the rules of a site; without a matching rule there is no binding.

A pattern matches a whole value or not at all: the role ``psi`` does not match ``psi2``.
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
"""Realm roles that Keycloak gives to every user."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A token with a value in ``claim`` that matches ``match`` gives ``role``.

    ``claim`` is a path such as ``realm_access.roles``. ``match`` is plain text, with ``{tenant}`` where the name of a
    tenant stands. ``tenant`` is None for a role at the provider, ``{tenant}`` for the name in the value, or a name.
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
        # An unused placeholder would match any name and give all of them the same right.
        if (PLACEHOLDER in self.match) != (self.tenant == PLACEHOLDER):
            raise InvalidSetting(f"{where} must have {PLACEHOLDER} both in match and as tenant, or in neither")
        if self.tenant not in (None, PLACEHOLDER) and not tenant.is_name(self.tenant or ""):
            raise InvalidSetting(f'{where} names the tenant "{self.tenant}", which is not a name of a tenant')


def bindings_of(claims: Mapping[str, object], rules: tuple[Rule, ...]) -> tuple[ClaimBinding, ...]:
    """The bindings that the rules give, without duplicates, in the order of the rules."""
    bindings = dict.fromkeys(
        binding for rule in rules for value in values_at(claims, rule.claim) for binding in _bindings_for(rule, value)
    )
    return tuple(bindings)


def values_at(claims: Mapping[str, object], path: str) -> Iterator[str]:
    """The text at ``path``, or those of a list there; other types count as absent."""
    value: object = claims
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return
        value = value.get(part)
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))


def _bindings_for(rule: Rule, value: str) -> Iterator[ClaimBinding]:
    prefix, placeholder, suffix = rule.match.partition(PLACEHOLDER)
    pattern = re.escape(prefix) + (f"({tenant.NAME.pattern})" if placeholder else "") + re.escape(suffix)
    match = re.fullmatch(pattern, value, re.ASCII)
    if match is None:
        return
    names = {value, *match.groups()}
    if not any(_is_excepted(name, exception) for name in names for exception in rule.except_):
        yield ClaimBinding(rule.role, match[1] if placeholder else rule.tenant)


def _is_excepted(name: str, exception: str) -> bool:
    return name.startswith(exception[:-1]) if exception.endswith("*") else name == exception


def preset(name: str) -> tuple[Rule, ...]:
    presets = {"csm": _csm(), "keycloak-groups": _keycloak_groups(), "flat": _flat()}
    if name not in presets:
        near = difflib.get_close_matches(name, presets, 1, 0.4)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise InvalidSetting(f'there is no mapping called "{name}"; choose one of {", ".join(presets)}{hint}')
    return presets[name]


def _csm() -> tuple[Rule, ...]:
    """CSM gives every group of nodes a realm role of the same name; the roles in ``not_groups`` are the realm's own."""
    not_groups = (*NOT_TENANTS, "admin", "user", "tenant-admin", "monitor-ro", "wlm")
    return (
        Rule("realm_access.roles", "pa_admin", "provider-admin"),
        Rule("realm_access.roles", PLACEHOLDER, "tenant-operator", PLACEHOLDER, not_groups),
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
