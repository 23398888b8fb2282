"""``canton apply`` and ``canton diff``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from canton.domain.terminal_text import is_harmless
from cli.command_result import Run
from client import samples
from client.scripted_server import Reply, Script, items, problem

FILE = """
sites:
  - name: alps
    description: Lugano
tenants:
  - name: psi
    description: Villigen
    quota: {nodes: 64, open_operations: 4, service_accounts: 8}
    members:
      - {subject: "cscs:alice", role: tenant-admin}
"""
ABSENT = problem(404, "unknown-tenant", "no such thing")


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "site.yaml"
    path.write_text(FILE)
    return str(path)


ROLES = [samples.role(name=name, scope="tenant") for name in ("tenant-admin", "r")]
ALLOWED = samples.decision(rule="provider:provider-admin")


def answer_checks(script: Script) -> None:
    """Answer the requests with which every file is checked."""
    script.on("GET /v1/roles", items(*ROLES, samples.role()))
    script.on("GET /v1/whoami", Reply(body=samples.whoami()))
    script.on("GET /v1/can-i", Reply(body=ALLOWED))


def there(script: Script) -> None:
    answer_checks(script)
    script.on("GET /v1/sites/alps", Reply(body=samples.site()))
    script.on("GET /v1/tenants/psi", Reply(body=samples.tenant()))
    script.on("GET /v1/tenants/psi/quota", Reply(body=samples.quota()))
    script.on("GET /v1/bindings", items(samples.binding()))


def absent(script: Script) -> None:
    answer_checks(script)
    for line in ("GET /v1/sites/alps", "GET /v1/tenants/psi", "GET /v1/tenants/psi/quota", "GET /v1/bindings"):
        script.on(line, ABSENT)
    script.on("POST /v1/sites", Reply(201, samples.site()))
    script.on("POST /v1/tenants", Reply(201, samples.tenant()))
    script.on("PUT /v1/tenants/psi/quota", Reply(body=samples.quota()))
    script.on("POST /v1/bindings", Reply(201, samples.binding()))


ALL = (
    "+ site alps\n+ tenant psi\n~ tenant psi quota nodes: none → 64, open_operations: none → 4, "
    "service_accounts: none → 8\n+ tenant psi member cscs:alice tenant-admin\n"
)


class TestDiff:
    def test_the_same_is_0(self, canton: Run, script: Script, file: str) -> None:
        there(script)
        assert canton("diff", "-f", file) == (0, "", "canton: no difference\n")

    def test_different_is_1(self, canton: Run, script: Script, file: str) -> None:
        absent(script)
        assert canton("diff", "-f", file) == (1, ALL, "")
        assert {request.method for request in script.requests} == {"GET"}

    @pytest.mark.parametrize(
        ("reply", "status"), [(problem(403, "forbidden", "no"), 4), (problem(500, "needs-human", "no"), 2)]
    )
    def test_an_error_is_never_1(self, canton: Run, script: Script, file: str, reply: Reply, status: int) -> None:
        answer_checks(script)
        script.on("GET /v1/sites/alps", reply)
        assert canton("diff", "-f", file).status == status

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("tenant: []", 'the file: unknown key "tenant"; did you mean "tenants"?'),
            ("tenants: [{nam: psi}]", "tenants[0] has no name"),
            (
                "tenants: [{name: psi, quota: {nodes: many}}]",
                "tenants[0].quota.nodes must be a whole number, or null for no limit, not many",
            ),
            ("tenants: [{name: psi, quota: {nodes: true}}]", "limit, not yes"),
            ("tenants: [{name: psi, members: [{role: x}]}]", "tenants[0].members[0] has no subject"),
            ("tenants: [{name: psi}, {name: psi}]", "tenants: psi is listed twice"),
            ("tenants: psi", "  tenants must be a list, not psi"),
            ("- a", "the file must be a mapping"),
            ("a: [", "neither YAML nor JSON: while parsing a flow node"),
            ("a: [", "at line 1, column 5"),
            ("", "<stdin> is empty; write sites or tenants into it, as canton apply --help shows"),
            ("# sites:", "is empty"),
            ("!!python/object/apply:os.system [id]", "neither YAML nor JSON"),
        ],
    )
    def test_a_mistake_is_named_and_nothing_is_asked(
        self, canton: Run, script: Script, text: str, message: str
    ) -> None:
        result = canton("diff", "-f", "-", stdin=text)
        assert result.status == 2
        assert message in result.err
        assert script.requests == []

    @pytest.mark.parametrize("invisible", ["\u3164", "\u2800", "\u034f", "\ufe0f", "\U000e0100", "\u202e"])
    def test_a_name_that_shows_as_another_is_refused(self, canton: Run, script: Script, invisible: str) -> None:
        there(script)
        text = f'tenants: [{{name: psi, members: [{{subject: "cscs:group/ops{invisible}", role: tenant-admin}}]}}]'
        result = canton("diff", "-f", "-", stdin=text)
        assert (result.status, result.out) == (2, "")
        assert "write a person as ISSUER:NAME" in result.err
        assert is_harmless(result.err)


class TestApply:
    def test_makes_what_differs_and_says_what(self, canton: Run, script: Script, file: str) -> None:
        absent(script)
        result = canton("apply", "-f", file, "--reason", "spring")
        assert (result.status, result.out, result.err) == (0, ALL, "canton: made 4 changes\n")
        changes = [request for request in script.requests if request.method != "GET"]
        assert [request.line for request in changes] == [
            "POST /v1/sites",
            "POST /v1/tenants",
            "PUT /v1/tenants/psi/quota",
            "POST /v1/bindings",
        ]
        assert {request.headers["canton-reason"] for request in changes} == {"spring"}

    def test_nothing_to_do_is_success(self, canton: Run, script: Script, file: str) -> None:
        there(script)
        assert canton("apply", "-f", file) == (0, "", "canton: the server already matches the file; nothing to do\n")

    def test_only_what_differs(self, canton: Run, script: Script) -> None:
        there(script)
        script.on("PATCH /v1/tenants/psi", Reply(body=samples.tenant()))
        script.on("PUT /v1/tenants/psi/quota", Reply(body=samples.quota()))
        text = "tenants: [{name: psi, description: new, quota: {nodes: null}}]"
        result = canton("apply", "-f", "-", stdin=text)
        assert result.out == "~ tenant psi description: Villigen → new\n~ tenant psi quota nodes: 64 → none\n"
        assert script.last.body == {"nodes": None, "open_operations": 4, "service_accounts": 8}

    def test_members_are_given_what_they_lack_and_nothing_is_taken(self, canton: Run, script: Script) -> None:
        there(script)
        script.on("POST /v1/bindings", Reply(201, samples.binding()))
        members = (
            "{subject: 'cscs:alice', role: tenant-admin, until: 2027-01-01T00:00:00Z}, {subject: 'cscs:bob', role: r}"
        )
        result = canton("apply", "-f", "-", stdin=f"tenants: [{{name: psi, members: [{members}]}}]")
        assert result.out.splitlines() == [
            "~ tenant psi member cscs:alice tenant-admin until 2027-01-01T00:00:00+00:00 (earlier: now without end)",
            "+ tenant psi member cscs:bob r",
        ]
        assert "DELETE" not in {request.method for request in script.requests}

    def test_a_failure_half_way_says_how_far_it_came(self, canton: Run, script: Script, file: str) -> None:
        absent(script)
        script.on("POST /v1/tenants", problem(409, "already-exists", "psi had that name"))
        result = canton("apply", "-f", file)
        assert result.status == 5
        assert "psi had that name; 1 of 4 changes were made before this error. Look with: canton diff -f" in result.err

    def test_a_dry_run_is_checked_and_changes_nothing(self, canton: Run, script: Script, file: str) -> None:
        absent(script)
        result = canton("apply", "-f", file, "--dry-run")
        assert (result.status, result.out) == (0, ALL)
        assert "nothing was changed; without --dry-run there would be 4 changes" in result.err
        assert {request.method for request in script.requests} == {"GET"}


MEMBER = "tenants: [{name: psi, members: [{subject: 'SUBJECT', role: ROLE}]}]"


@pytest.mark.parametrize("command", [["apply"], ["apply", "--dry-run"], ["diff"]])
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MEMBER.replace("SUBJECT", "cscss:bob").replace("ROLE", "tenant-admin"),
            'trusts no issuer "cscss"; did you mean "cscs"?; it trusts cscs',
        ),
        (MEMBER.replace("SUBJECT", "bob").replace("ROLE", "tenant-admin"), "write a person as ISSUER:NAME"),
        (
            MEMBER.replace("SUBJECT", "cscs:bob").replace("ROLE", "tenant-admn"),
            'there is no role "tenant-admn"; did you mean "tenant-admin"?',
        ),
        (MEMBER.replace("SUBJECT", "cscs:bob").replace("ROLE", "auditor"), '"auditor" is a role at the provider'),
        (
            "tenants: [{name: psi, members: [{subject: 'cscs:bob', role: r, until: 2020-01-01T00:00:00Z}]}]",
            "2020-01-01T00:00:00+00:00 is in the past",
        ),
        ("tenants: [{name: psi, members: [{subject: 'cscs:bob', role: r, until: soon}]}]", "soon is not a time"),
        ("sites: [{name: Alps}]", "site Alps: a name is"),
        ("tenants: [{name: psi, quota: {nodes: -1}}]", "-1 is not from 0 to"),
        (f"sites: [{{name: alps, description: {'x' * 501}}}]", "a description is one line"),
    ],
)
def test_everything_is_checked_before_the_first_change(
    canton: Run, script: Script, command: list[str], text: str, message: str
) -> None:
    absent(script)
    result = canton(*command, "-f", "-", stdin=text)
    assert result.status == 2
    assert message in result.err
    assert "nothing was done" in result.err
    assert {request.method for request in script.requests} <= {"GET"}


@pytest.mark.parametrize("command", ["apply", "diff"])
def test_what_is_not_yours_to_do_is_known_before(canton: Run, script: Script, file: str, command: str) -> None:
    absent(script)
    script.on("GET /v1/can-i", Reply(body=ALLOWED), Reply(body={**ALLOWED, "allowed": False, "reason": "no role"}))
    result = canton(command, "-f", file)
    assert result.status == 4
    assert "you may not tenant.create: no role" in result.err
    assert {request.method for request in script.requests} == {"GET"}


SHORTER = """
sites: [{name: alps, description: new}]
tenants:
  - name: psi
    members: [{subject: "cscs:alice", role: tenant-admin, until: 2099-01-01T00:00:00Z}]
"""


def answer_can_i(script: Script, **by_permission: Mapping[str, object]) -> None:
    """Answer ``can-i`` by permission; the steps of SHORTER ask in this order."""
    order = ("site_update", "member_grant", "member_revoke")
    script.on("GET /v1/can-i", *(Reply(body={**ALLOWED, **by_permission.get(permission, {})}) for permission in order))


class TestAnEarlierEnd:
    """An earlier end is a revocation: what the server requires for one is checked before the first change."""

    def test_is_asked_as_one(self, canton: Run, script: Script) -> None:
        there(script)
        script.on("PATCH /v1/sites/alps", Reply(body=samples.site()))
        script.on("POST /v1/bindings", Reply(body=samples.binding()))
        result = canton("apply", "-f", "-", "--reason", "contract ends", stdin=SHORTER)
        assert result.status == 0
        assert "member cscs:alice tenant-admin until 2099-01-01T00:00:00+00:00 (earlier: now without end)" in result.out
        permissions = [request.query["permission"] for request in script.requests if request.line == "GET /v1/can-i"]
        assert permissions == ["site.update", "member.grant", "member.revoke"]

    def test_that_is_later_is_a_grant_of_the_role(self, canton: Run, script: Script) -> None:
        there(script)
        script.on("GET /v1/bindings", items(samples.binding(until="2030-01-01T00:00:00Z")))
        assert canton("diff", "-f", "-", stdin=SHORTER).status == 1
        queries = [request.query for request in script.requests if request.line == "GET /v1/can-i"]
        until = "2099-01-01T00:00:00+00:00"
        assert queries[1] == {"permission": "member.grant", "tenant": "psi", "role": "tenant-admin", "until": until}
        assert len(queries) == 2

    @pytest.mark.parametrize("command", [["apply"], ["apply", "--dry-run"], ["diff"]])
    def test_without_the_permission_stops_first(self, canton: Run, script: Script, command: list[str]) -> None:
        there(script)
        answer_can_i(script, member_revoke={"allowed": False, "reason": "no role"})
        result = canton(*command, "-f", "-", stdin=SHORTER)
        assert result.status == 4
        assert "nothing was done\n  you may not member.revoke: no role" in result.err
        assert {request.method for request in script.requests} == {"GET"}

    @pytest.mark.parametrize("dry", [[], ["--dry-run"]])
    def test_without_a_reason_stops_first(self, canton: Run, script: Script, dry: list[str]) -> None:
        there(script)
        answer_can_i(script, member_revoke={"needs_reason": True})
        result = canton("apply", "-f", "-", *dry, stdin=SHORTER)
        assert result.status == 2
        assert "nothing was done\n  member.revoke is recorded with its reason; say why with --reason" in result.err
        assert {request.method for request in script.requests} == {"GET"}

    @pytest.mark.parametrize("dry", [[], ["--dry-run"]])
    @pytest.mark.parametrize("permission", ["site_update", "member_revoke"])
    def test_that_takes_two_stops_first(self, canton: Run, script: Script, permission: str, dry: list[str]) -> None:
        there(script)
        answer_can_i(script, **{permission: {"two_persons": True}})
        result = canton("apply", "-f", "-", *dry, "--reason", "x", stdin=SHORTER)
        assert result.status == 4
        waiting = "~ site alps description" if permission == "site_update" else "~ tenant psi member cscs:alice"
        assert f"nothing was done\n  {waiting}" in result.err
        assert f"{permission.replace('_', '.')} takes two persons" in result.err
        assert {request.method for request in script.requests} == {"GET"}

    def test_diff_shows_it_and_says_what_apply_would_want(self, canton: Run, script: Script) -> None:
        there(script)
        answer_can_i(script, site_update={"two_persons": True}, member_revoke={"needs_reason": True})
        result = canton("diff", "-f", "-", stdin=SHORTER)
        assert (result.status, len(result.out.splitlines())) == (1, 2)
        assert "apply would refuse this: site.update needs a second person" in result.err
        assert "apply needs --reason for this, because of member.revoke" in result.err


def test_a_member_twice_is_a_mistake(canton: Run, script: Script) -> None:
    member = "{subject: 'cscs:bob', role: r}"
    result = canton("apply", "-f", "-", stdin=f"tenants: [{{name: psi, members: [{member}, {member}]}}]")
    assert result.status == 2
    assert "tenants[0].members: cscs:bob r is listed twice" in result.err
    assert script.requests == []
