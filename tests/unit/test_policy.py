"""The policy: built-in roles as designed, the decision, and the list filter, which must agree with it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton.domain.errors import Invalid, InvalidRequest, InvalidSetting
from canton.policy.bindings import Binding, Kind, Principal, Source, bind
from canton.policy.decide import Question, Rights, decide, missing, reaches
from canton.policy.permissions import PERMISSIONS, find
from canton.policy.roles import BUILTIN, Role, Roles, RoleScope, custom
from canton.policy.scope import scope

TENANTS = ("psi", "cscs", "eth")
NOW = 1_000_000

# Written from the design, not from the tables of the policy: in one's own tenant, in another, and at the provider.
# Y: yes, -: no.
EXPECTED = """
provider-admin     tenant.delete           Y Y Y
provider-admin     node.power              Y Y Y
provider-admin     member.grant            Y Y Y
provider-admin     site.create             Y Y Y
provider-operator  node.power              Y Y Y
provider-operator  node.import             Y Y Y
provider-operator  audit.read              Y Y Y
provider-operator  tenant.delete           - - -
provider-operator  member.grant            - - -
provider-operator  quota.set               - - -
provider-operator  service-account.token   - - -
auditor            audit.read              Y Y Y
auditor            tenant.read             Y Y Y
auditor            service-account.read    Y Y Y
auditor            node.power              - - -
auditor            approval.decide         - - -
tenant-admin       node.power              Y - -
tenant-admin       member.grant            Y - -
tenant-admin       member.revoke           Y - -
tenant-admin       tenant.update           Y - -
tenant-admin       audit.read              Y - -
tenant-admin       service-account.create  Y - -
tenant-admin       tenant.create           - - -
tenant-admin       tenant.delete           - - -
tenant-admin       tenant.resume           - - -
tenant-admin       quota.set               - - -
tenant-admin       node.import             - - -
tenant-admin       site.read               Y Y Y
tenant-admin       site.create             - - -
tenant-operator    node.power              Y - -
tenant-operator    operation.undo          Y - -
tenant-operator    approval.decide         Y - -
tenant-operator    audit.read              Y - -
tenant-operator    member.grant            - - -
tenant-operator    service-account.create  - - -
tenant-operator    node.maintenance        - - -
tenant-operator    node.release            - - -
provider-operator  node.assign             Y Y Y
provider-operator  node.delete             Y Y Y
tenant-viewer      node.read               Y - -
tenant-viewer      member.read             Y - -
tenant-viewer      role.read               Y Y Y
tenant-viewer      node.power              - - -
tenant-viewer      audit.read              - - -
tenant-viewer      service-account.read    - - -
tenant-viewer      approval.read           - - -
"""


def person(*bindings: Binding) -> Principal:
    return Principal("test:ann", "Ann", Kind.PERSON, "test", bindings)


def granted(role: str, tenant: str | None, until: int | None = None, roles: Roles = BUILTIN) -> Binding:
    return bind(roles, role, tenant, Source.GRANT, until)


def allowed(who: Principal, permission: str, tenant: str | None = None, now: int = NOW) -> bool:
    return decide(who, Question(permission, tenant), BUILTIN, now).allowed


@pytest.mark.parametrize("line", EXPECTED.strip().splitlines())
def test_roles_hold_what_the_design_says(line: str) -> None:
    role, permission, *expected = line.split()
    home = None if BUILTIN[role].scope is RoleScope.PROVIDER else "psi"
    who = person(granted(role, home))
    assert [allowed(who, permission, place) for place in ("psi", "cscs", None)] == [
        letter == "Y" for letter in expected
    ]


def test_no_tenants_role_holds_what_is_the_providers() -> None:
    providers = {
        "site.create", "site.update", "site.delete", "tenant.create", "tenant.suspend", "tenant.resume",
        "tenant.delete", "quota.set", "node.import", "node.enroll", "node.assign", "node.release", "node.maintenance",
        "node.retire", "node.delete",
    }  # fmt: skip
    for role in BUILTIN.values():
        if role.scope is RoleScope.TENANT:
            assert not role.permissions & providers, role.name


def test_an_auditor_changes_nothing() -> None:
    assert not [name for name in BUILTIN["auditor"].permissions if PERMISSIONS[name].change]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Roles, Principal]:
    """Built-in and custom roles, and a person with bindings, some of which do not fit their role or have ended."""
    names = st.frozensets(st.sampled_from(sorted(PERMISSIONS)), max_size=12)
    own = {
        f"own-{n}": Role(f"own-{n}", draw(st.sampled_from(RoleScope)), "", draw(names))
        for n in range(draw(st.integers(0, 3)))
    }
    roles = {**BUILTIN, **own}
    places = st.one_of(st.none(), st.sampled_from(TENANTS))
    ends = st.one_of(st.none(), st.integers(NOW - 2, NOW + 2))
    role_names = st.sampled_from([*roles, "no-such-role"])
    bindings = draw(st.lists(st.tuples(role_names, places, ends), max_size=5))
    return roles, person(*(granted(role, place, end, roles) for role, place, end in bindings))


PLACES = (*TENANTS, "none", None)


@given(worlds(), st.sampled_from(sorted(PERMISSIONS)))
def test_the_filter_and_the_decision_agree(world: tuple[Roles, Principal], permission: str) -> None:
    roles, who = world
    visible = scope(who, permission, NOW)
    for place in PLACES:
        decision = decide(who, Question(permission, place), roles, NOW)
        assert decision.allowed == visible.admits(place), (place, decision)
    assert visible.is_empty == (not any(visible.admits(place) for place in (*TENANTS, None)))


@given(st.sampled_from(sorted(PERMISSIONS)), st.sampled_from(PLACES))
def test_without_bindings_there_is_nothing(permission: str, place: str | None) -> None:
    decision = decide(person(), Question(permission, place), BUILTIN, NOW)
    assert (decision.allowed, decision.rule) == (False, "no-bindings")
    assert scope(person(), permission, NOW).is_empty


@given(worlds())
def test_a_binding_never_reaches_beyond_its_role_or_its_tenant(world: tuple[Roles, Principal]) -> None:
    roles, who = world
    for binding in who.bindings:
        role = roles.get(binding.role)
        misfit = role is None or (role.scope is RoleScope.TENANT) != (binding.tenant is not None)
        for permission in PERMISSIONS:
            reached = [place for place in PLACES if reaches(binding, permission, place)]
            assert not (misfit and reached)
            assert not reached or (role is not None and permission in role.permissions)


@given(worlds(), worlds(), st.sampled_from((*TENANTS, None)))
def test_a_permitted_grant_gives_no_more_than_the_granter_has(
    world: tuple[Roles, Principal], second_world: tuple[Roles, Principal], place: str | None
) -> None:
    _, giver = world
    for role in second_world[0].values():
        if missing(giver, Rights(role.permissions, place, NOW + 1)):
            continue
        handed = bind({role.name: role}, role.name, place, Source.GRANT)
        for permission in handed.permissions:
            for where in PLACES:
                if reaches(handed, permission, where):
                    assert allowed(giver, permission, where)


@given(worlds(), st.sampled_from((*TENANTS, None)))
def test_what_is_held_later_is_held_now(world: tuple[Roles, Principal], place: str | None) -> None:
    """Bindings only end, so that to be checked for the last instant is to be checked for all."""
    _, who = world
    every = frozenset(PERMISSIONS)
    assert (
        missing(who, Rights(every, place, NOW))
        <= missing(who, Rights(every, place, NOW + 1))
        <= missing(who, Rights(every, place))
    )


def test_a_binding_ends_to_the_microsecond() -> None:
    who = person(granted("tenant-viewer", "psi", NOW))
    assert allowed(who, "node.read", "psi", NOW - 1)
    assert not allowed(who, "node.read", "psi", NOW)
    assert decide(who, Question("node.read", "psi"), BUILTIN, NOW).rule == "no-bindings"
    assert scope(who, "node.read", NOW).is_empty
    assert missing(who, Rights(frozenset({"node.read"}), "psi", NOW + 1)) == {"node.read"}


def test_in_a_suspended_tenant_only_the_provider_changes_things() -> None:
    member, operator = granted("tenant-admin", "psi"), granted("provider-operator", None)
    for bindings, change, rule in (
        ((member,), False, "tenant-suspended"),
        ((operator,), True, "provider:provider-operator"),
        ((member, operator), True, "provider:provider-operator"),
        ((operator, member), True, "provider:provider-operator"),
    ):
        decision = decide(person(*bindings), Question("node.power", "psi", suspended=True), BUILTIN, NOW)
        assert (decision.allowed, decision.rule) == (change, rule)
        assert decide(person(*bindings), Question("node.read", "psi", suspended=True), BUILTIN, NOW).allowed


def test_a_decision_names_its_rule_and_what_would_do() -> None:
    who = person(granted("tenant-viewer", "psi"))
    yes = decide(who, Question("node.read", "psi"), BUILTIN, NOW)
    assert (yes.rule, yes.reason) == ("tenant:tenant-viewer", "test:ann is tenant-viewer in psi")
    no = decide(who, Question("quota.set", "psi"), BUILTIN, NOW)
    assert (no.rule, no.reason) == (
        "not-granted",
        "no role of test:ann holds quota.set in psi; it takes provider-admin",
    )
    assert decide(who, Question("node.fly", "psi"), BUILTIN, NOW).rule == "unknown-permission"


def test_a_service_account_renews_its_own_token_and_no_other() -> None:
    binding = Binding("service-account", "psi", frozenset({"node.read"}), Source.ACCOUNT)
    ci = Principal("service:psi/ci", "ci", Kind.SERVICE_ACCOUNT, "canton", (binding,))
    for account, permission, expected in (
        ("service:psi/ci", "service-account.token", True),
        ("service:psi/other", "service-account.token", False),
        (None, "service-account.token", False),
        ("service:psi/ci", "service-account.revoke", False),
        ("service:psi/ci", "service-account.delete", False),
    ):
        question = Question(permission, "psi", account=account)
        assert decide(ci, question, BUILTIN, NOW).allowed is expected, question


def test_a_role_of_the_configuration_is_what_it_says() -> None:
    role = custom("night-shift", "tenant", "starts nodes", ["node.read", "node.power", "node.read"])
    assert (role.scope, role.permissions, role.builtin) == (
        RoleScope.TENANT,
        frozenset({"node.read", "node.power"}),
        False,
    )
    assert custom("closing", "provider", "", ["tenant.delete"]).permissions == {"tenant.delete"}


@pytest.mark.parametrize(
    ("name", "role_scope", "permissions", "error", "message"),
    [
        ("auditor", "provider", ["node.read"], InvalidSetting, "built in"),
        ("own", "everywhere", ["node.read"], InvalidSetting, "provider or tenant"),
        ("own", "tenant", ["node.read", "tenant.delete"], InvalidSetting, "cannot hold tenant.delete"),
        ("own", "tenant", ["node.raed"], InvalidRequest, 'did you mean "node.read"?'),
    ],
)
def test_a_wrong_role_is_refused_with_what_to_write(
    name: str, role_scope: str, permissions: list[str], error: type[Invalid], message: str
) -> None:
    with pytest.raises(error) as refusal:
        custom(name, role_scope, "", permissions)
    assert message in refusal.value.message


def test_an_unknown_permission_is_refused_with_the_nearest() -> None:
    with pytest.raises(InvalidRequest, match=r'did you mean "tenant\.delete"\?'):
        find("tenant.delet")
    with pytest.raises(InvalidRequest, match="GET /v1/roles"):
        find("fly")
