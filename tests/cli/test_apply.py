"""``canton apply`` and ``canton diff``."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.running import Run
from client import samples
from client.scripted import Reply, Script, items, problem

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


def there(script: Script) -> None:
    script.on("GET /v1/sites/alps", Reply(body=samples.site()))
    script.on("GET /v1/tenants/psi", Reply(body=samples.tenant()))
    script.on("GET /v1/tenants/psi/quota", Reply(body=samples.quota()))
    script.on("GET /v1/bindings", items(samples.binding()))


def absent(script: Script) -> None:
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
        assert {asked.method for asked in script.asked} == {"GET"}

    @pytest.mark.parametrize(
        ("reply", "status"), [(problem(403, "forbidden", "no"), 4), (problem(500, "needs-human", "no"), 2)]
    )
    def test_an_error_is_never_1(self, canton: Run, script: Script, file: str, reply: Reply, status: int) -> None:
        script.on("GET /v1/sites/alps", reply)
        assert canton("diff", "-f", file).status == status

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("tenant: []", 'the file: unknown key "tenant"; did you mean "tenants"?'),
            ("tenants: [{nam: psi}]", "tenants[0] has no name"),
            ("tenants: [{name: psi, quota: {nodes: many}}]", "tenants[0].quota.nodes: many is not what belongs here"),
            ("tenants: [{name: psi, quota: {nodes: true}}]", "tenants[0].quota.nodes: yes is not"),
            ("tenants: [{name: psi, members: [{role: x}]}]", "tenants[0].members[0] has no subject"),
            ("tenants: [{name: psi}, {name: psi}]", "tenants: psi is there twice"),
            ("tenants: psi", "the file.tenants: psi is not what belongs here"),
            ("- a", "the file must be a mapping"),
            ("a: [", "neither YAML nor JSON"),
            ("!!python/object/apply:os.system [id]", "neither YAML nor JSON"),
        ],
    )
    def test_a_mistake_is_named_and_nothing_is_asked(self, canton: Run, script: Script, text: str, said: str) -> None:
        ran = canton("diff", "-f", "-", stdin=text)
        assert ran.status == 2
        assert said in ran.err
        assert script.asked == []


class TestApply:
    def test_makes_what_differs_and_says_what(self, canton: Run, script: Script, file: str) -> None:
        absent(script)
        ran = canton("apply", "-f", file, "--reason", "spring")
        assert (ran.status, ran.out, ran.err) == (0, ALL, "canton: made 4 changes\n")
        changes = [asked for asked in script.asked if asked.method != "GET"]
        assert [asked.line for asked in changes] == [
            "POST /v1/sites",
            "POST /v1/tenants",
            "PUT /v1/tenants/psi/quota",
            "POST /v1/bindings",
        ]
        assert {asked.headers["canton-reason"] for asked in changes} == {"spring"}

    def test_nothing_to_do_is_success(self, canton: Run, script: Script, file: str) -> None:
        there(script)
        assert canton("apply", "-f", file) == (0, "", "canton: everything is already so; nothing to do\n")

    def test_only_what_differs(self, canton: Run, script: Script) -> None:
        there(script)
        script.on("PATCH /v1/tenants/psi", Reply(body=samples.tenant()))
        script.on("PUT /v1/tenants/psi/quota", Reply(body=samples.quota()))
        text = "tenants: [{name: psi, description: new, quota: {nodes: null}}]"
        ran = canton("apply", "-f", "-", stdin=text)
        assert ran.out == "~ tenant psi description: Villigen → new\n~ tenant psi quota nodes: 64 → none\n"
        assert script.last.body == {"nodes": None, "open_operations": 4, "service_accounts": 8}

    def test_members_are_given_what_they_lack_and_nothing_is_taken(self, canton: Run, script: Script) -> None:
        there(script)
        script.on("POST /v1/bindings", Reply(201, samples.binding()))
        members = (
            "{subject: 'cscs:alice', role: tenant-admin, until: 2027-01-01T00:00:00Z}, {subject: 'cscs:bob', role: r}"
        )
        ran = canton("apply", "-f", "-", stdin=f"tenants: [{{name: psi, members: [{members}]}}]")
        assert ran.out.splitlines() == [
            "~ tenant psi member cscs:alice tenant-admin until 2027-01-01T00:00:00+00:00",
            "+ tenant psi member cscs:bob r",
        ]
        assert "DELETE" not in {asked.method for asked in script.asked}

    def test_a_failure_half_way_says_how_far_it_came(self, canton: Run, script: Script, file: str) -> None:
        absent(script)
        script.on("POST /v1/tenants", problem(409, "already-exists", "psi had that name"))
        ran = canton("apply", "-f", file)
        assert ran.status == 5
        assert "psi had that name; 1 of 4 changes were made before. Look with: canton diff -f" in ran.err
