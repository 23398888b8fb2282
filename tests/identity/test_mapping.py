"""From claims to bindings: exactly what the rules say, and no binding for a person whom no rule matches."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from canton.contracts.identity import ClaimBinding
from canton.domain.errors import InvalidSetting
from canton.drivers.oidc.mapping import Rule, bindings_of, preset

PSI = ClaimBinding("tenant-operator", "psi")
CSCS = ClaimBinding("tenant-operator", "cscs")
PROVIDER = ClaimBinding("provider-admin", None)


def realm(*roles: Any) -> dict[str, Any]:
    return {"realm_access": {"roles": list(roles)}}


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        (realm("psi"), [PSI]),
        (realm("psi", "cscs"), [PSI, CSCS]),
        (realm("psi", "psi"), [PSI]),
        (realm("pa_admin"), [PROVIDER]),
        (realm("psi", "pa_admin"), [PROVIDER, PSI]),
        (realm("psi2"), [ClaimBinding("tenant-operator", "psi2")]),
        (realm("offline_access", "uma_authorization", "default-roles-shasta", "default-roles-psi"), []),
        (realm("tenant-admin", "admin", "user"), []),
        (realm("pa_admin2", "xpa_admin", "PA_ADMIN", "pa_admin ", "pa_admin\n"), []),
        (realm("Psi", "psi\n", " psi", "p", "1psi", "psi-", "psi/ops", "ψι", "p" * 33, ""), []),
        (realm(None, 7, ["psi"], {"psi": True}), []),
        ({"realm_access": "psi"}, []),
        ({"realm_access": ["psi"]}, []),
        ({"realm_access": {"roles": {"psi": 1}}}, []),
        ({"realm_access.roles": ["psi"]}, []),
        ({"roles": ["psi"], "groups": ["psi"]}, []),
        ({}, []),
    ],
)
def test_csm(claims: dict[str, Any], expected: list[ClaimBinding]) -> None:
    assert bindings_of(claims, preset("csm")) == tuple(expected)


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("/tenants/psi/admins", [ClaimBinding("tenant-admin", "psi")]),
        ("/tenants/psi/operators", [PSI]),
        ("/tenants/psi/viewers", [ClaimBinding("tenant-viewer", "psi")]),
        ("/provider/admins", [PROVIDER]),
        ("/provider/auditors", [ClaimBinding("auditor", None)]),
        ("/tenants/psi", []),
        ("/tenants/psi/operators/night", []),
        ("/old/tenants/psi/operators", []),
        ("/tenants/psi/x/operators", []),
        ("/tenants//operators", []),
        ("tenants/psi/operators", []),
    ],
)
def test_keycloak_groups(group: str, expected: list[ClaimBinding]) -> None:
    assert bindings_of({"groups": [group]}, preset("keycloak-groups")) == tuple(expected)


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        ("canton-provider-admin", [PROVIDER]),
        ("canton-tenant-operator:psi", [PSI]),
        ("canton-tenant-operator", []),
        ("canton-tenant-operator:", []),
        ("canton-tenant-operator:psi:cscs", []),
        ("canton-provider-admin:psi", []),
        ("tenant-operator:psi", []),
    ],
)
@pytest.mark.parametrize("nested", [True, False])
def test_flat(role: str, expected: list[ClaimBinding], nested: bool) -> None:
    claims = realm(role) if nested else {"roles": [role]}
    assert bindings_of(claims, preset("flat")) == tuple(expected)


def test_a_rule_of_ones_own() -> None:
    rules = (
        Rule("resource_access.shasta.roles", "{tenant}-admin", "tenant-admin", "{tenant}", ("system",)),
        Rule("department", "Basel (HPC)", "tenant-viewer", "psi"),
    )
    claims = {"resource_access": {"shasta": {"roles": ["psi-admin", "system-admin"]}}, "department": "Basel (HPC)"}
    assert bindings_of(claims, rules) == (ClaimBinding("tenant-admin", "psi"), ClaimBinding("tenant-viewer", "psi"))
    assert bindings_of({"department": "Basel  HPC"}, rules) == ()


@pytest.mark.parametrize(
    ("rule", "what"),
    [
        ({"match": "{tenant}", "tenant": None}, "both in match and as tenant"),
        ({"match": "{tenant}", "tenant": "psi"}, "both in match and as tenant"),
        ({"match": "psi", "tenant": "{tenant}"}, "both in match and as tenant"),
        ({"match": "{tenant}-{tenant}", "tenant": "{tenant}"}, "once"),
        ({"match": "{role}"}, "brace"),
        ({"match": "psi*"}, "not a regular expression"),
        ({"match": ""}, "not complete"),
        ({"claim": "a..b"}, "not complete"),
        ({"role": ""}, "not complete"),
        ({"match": "psi", "tenant": "Psi"}, "not a name of a tenant"),
        ({"match": "psi", "tenant": ""}, "not a name of a tenant"),
    ],
)
def test_rules_that_are_refused(rule: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidSetting, match=what):
        Rule(**({"claim": "groups", "match": "psi", "role": "tenant-viewer"} | rule))


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(InvalidSetting, match='did you mean "keycloak-groups"'):
        preset("keycloak_group")


# Few letters, so that values are often almost equal.
text = st.text("ab-_:/. {}*(\nψ", max_size=12)
names = st.builds("{}{}{}".format, st.sampled_from("ab"), st.text("ab0-", max_size=6), st.sampled_from("ab0"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | text | names,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["roles", "realm_access", "x"]), inner),
    max_leaves=10,
)
presets = st.sampled_from(["csm", "keycloak-groups", "flat"])
# The first draw of a process takes a second on a busy machine.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@patient
@given(st.dictionaries(st.sampled_from(["realm_access", "groups", "roles"]), values), presets)
def test_any_claims_give_only_what_a_rule_says(claims: dict[str, Any], name: str) -> None:
    for binding in bindings_of(claims, preset(name)):
        assert (binding.tenant is None) == (binding.role in ("provider-admin", "provider-operator", "auditor"))
        assert binding.tenant is None or re.fullmatch(r"[a-z][a-z0-9-]{0,30}[a-z0-9]", binding.tenant)


@patient
@given(st.lists(names, max_size=6), names)
def test_a_tenant_is_named_by_exactly_its_own_role(roles: list[str], tenant: str) -> None:
    """Names that begin, end or contain the tenant's do not count."""
    rules = (Rule("groups", "{tenant}", "tenant-operator", "{tenant}", ()),)
    tenants = {binding.tenant for binding in bindings_of({"groups": roles}, rules)}
    assert tenants == set(roles)
    assert (tenant in tenants) == (tenant in roles)


@patient
@given(text, text.filter(bool), text)
def test_text_of_a_pattern_is_text(value: str, prefix: str, suffix: str) -> None:
    if set("{}*") & set(prefix + suffix):
        return
    rule = Rule("groups", prefix + suffix, "auditor")
    assert bool(bindings_of({"groups": [value]}, (rule,))) == (value == prefix + suffix)
    assert bindings_of({"groups": prefix + suffix}, (rule,)) == (ClaimBinding("auditor", None),)


@patient
@given(st.lists(text | names))
def test_nothing_configured_is_nothing_granted(roles: list[str]) -> None:
    assert bindings_of(realm(*roles) | {"groups": roles}, ()) == ()
