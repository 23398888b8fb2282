"""What a newcomer meets: a failed operation, a mistyped tenant, no role yet, a server that is down."""

from __future__ import annotations

from pathlib import Path

import pytest

from canton import __version__
from canton.cli.follow import NEED_REASON
from canton.client import credentials
from canton.policy.permissions import PERMISSIONS
from cli.running import Run
from client import samples
from client.scripted import Reply, Script, items, problem

ATTENTION = samples.attention(*(samples.failed(n, f"x1000c0s0b0n{n}", f"BMC {n} does not answer") for n in range(2)))
CHOICES = [
    "  canton operation retry op_1",
    "  canton operation undo op_1 --reason '…'",
    "  canton operation abandon op_1 --reason '…'",
]
STRANGER = samples.whoami(bindings=[])
NO_ROLE = "canton: you have no role; ask an administrator for one (your name is cscs:alice)\n"
UNKNOWN = problem(404, "unknown-tenant", 'there is no tenant "nosuch" that you may see')


class TestAFailedOperation:
    @pytest.fixture(autouse=True)
    def failed(self, script: Script) -> None:
        script.on("GET /v1/operations/op_1", Reply(body=samples.operation("needs_attention", attention=ATTENTION)))
        script.on("GET /v1/operations/op_1/steps", items(samples.step(1, "x1000c0s0b0n0", "failed")))

    @pytest.mark.parametrize("verb", ["wait", "show"])
    def test_offers_commands_that_work_when_copied(self, canton: Run, verb: str) -> None:
        assert canton("operation", verb, "op_1").err.splitlines()[-3:] == CHOICES

    def test_is_shown_with_its_first_cause(self, canton: Run) -> None:
        ran = canton("operation", "show", "op_1")
        assert ran.status == 0
        assert "canton: the first of 2 failures: x1000c0s0b0n0: BMC 0 does not answer\n" in ran.err

    def test_offers_only_what_is_possible(self, canton: Run, script: Script) -> None:
        attention = {**ATTENTION, "choices": ["retry", "abandon"]}
        script.on("GET /v1/operations/op_1", Reply(body=samples.operation("needs_attention", attention=attention)))
        assert "undo" not in canton("operation", "wait", "op_1").err

    def test_is_only_data_for_a_program(self, canton: Run) -> None:
        assert [canton("operation", "show", "op_1", *form).err for form in (["-q"], ["-o", "json"])] == ["", ""]

    def test_the_choices_that_need_a_reason_are_those_of_the_policy(self) -> None:
        verbs = ("retry", "undo", "abandon", "cancel")
        assert {verb for verb in verbs if PERMISSIONS[f"operation.{verb}"].needs_reason} == set(NEED_REASON)


class TestATenantThatIsNotThere:
    @pytest.fixture(autouse=True)
    def server(self, script: Script) -> None:
        script.on("GET /v1/whoami", Reply(body=samples.whoami()))
        script.on("GET /v1/tenants/nosuch", UNKNOWN)
        for noun in ("nodes", "audit", "operations", "bindings", "events", "service-accounts"):
            script.on(f"GET /v1/{noun}", items())

    @pytest.mark.parametrize("noun", ["node", "audit", "operation", "member", "event", "service-account"])
    @pytest.mark.parametrize("options", [[], ["-o", "json"]])
    def test_is_an_error_of_every_list(self, canton: Run, noun: str, options: list[str]) -> None:
        ran = canton(noun, "list", "--tenant", "nosuch", *options)
        assert (ran.status, ran.out) == (3, "")
        assert 'there is no tenant "nosuch" that you may see' in ran.err

    def test_is_an_error_in_a_selector(self, canton: Run) -> None:
        assert canton("node", "list", "--selector", "tenant=nosuch").status == 3
        assert canton("node", "list", "--selector", "tenant=-") == (0, "", "canton: nothing to list\n")

    def test_is_not_one_s_own_with_nothing_in_it(self, canton: Run) -> None:
        assert canton("node", "list", "--tenant", "psi") == (0, "", "canton: nothing to list\n")


class TestWithoutARole:
    @pytest.fixture(autouse=True)
    def server(self, script: Script) -> None:
        script.on("GET /v1/whoami", Reply(body=STRANGER))

    @pytest.mark.parametrize("noun", ["node", "tenant", "site", "role", "quota", "plan", "approval"])
    def test_an_empty_list_says_why(self, canton: Run, script: Script, noun: str) -> None:
        script.on(f"GET /v1/{'tenant' if noun == 'quota' else noun}s", items())
        ran = canton(noun, "list")
        assert (ran.status, ran.out) == (0, "")
        assert NO_ROLE in ran.err

    def test_whoami_says_whom_to_ask(self, canton: Run) -> None:
        assert NO_ROLE in canton("whoami").err

    def test_an_applied_file_is_refused_for_the_true_reason(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/roles", items())
        text = "tenants: [{name: psi, members: [{subject: 'cscs:bob', role: tenant-admin}]}]"
        ran = canton("apply", "-f", "-", stdin=text)
        assert ran.status == 4
        assert "there is no role" not in ran.err
        assert "you may not read roles" in ran.err


def test_the_version_of_the_client_needs_no_server(canton: Run) -> None:
    ran = canton("version", "--server", "http://127.0.0.1:9")
    assert (ran.status, ran.out) == (8, f"client  {__version__}\n")
    assert "127.0.0.1:9" in ran.err


class TestAQuotaWithoutLimit:
    def test_is_shown_as_such(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/tenants/psi/quota", Reply(body=samples.quota(nodes=None)))
        assert "nodes:                  no limit\n" in canton("quota", "show", "psi").out

    def test_is_explained(self, canton: Run) -> None:
        ran = canton("quota", "set", "psi", "--nodes", "unlimited")
        assert ran.status == 2
        assert "write none for no limit" in ran.err
        assert canton("quota", "set", "--help").out.count("none: no limit") == 3


class TestALoginThatEnds:
    def test_renews_itself(self, canton: Run, context: Script, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CANTON_TOKEN")
        kept: credentials.Kept = {"server": context.url, "access_token": "a", "refresh_token": "r"}
        credentials.write(home / "state/canton/credentials/alps.json", kept)
        context.on("GET /v1/whoami", Reply(body=samples.whoami(expires_at=samples.AT)))
        assert "the login renews itself" in canton("whoami").err

    def test_does_not_with_a_token_alone(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/whoami", Reply(body=samples.whoami(expires_at=samples.AT)))
        assert "renews" not in canton("whoami").err


def test_a_mistake_that_many_rows_share_is_named_once(canton: Run, script: Script) -> None:
    wrong = [{"row": n, "what": 'there is no tenant "psi"; create it first'} for n in range(1, 101)]
    script.on("POST /v1/nodes/import", problem(409, "conflict", "rows are wrong", rows=wrong, count=140))
    text = "xname,tenant\n" + "".join(f"x1000c0s{n}b0n0,psi\n" for n in range(140))
    ran = canton("node", "import", "-", "--site", "alps", stdin=text)
    assert ran.status == 5
    assert ran.err.splitlines()[1:] == [
        '  <stdin>, line 2 and 99 more rows: there is no tenant "psi"; create it first',
        "  and 40 more rows",
    ]
