"""First problems of a new user: a failed operation, a mistyped tenant, no role yet, a server that is down."""

from __future__ import annotations

from pathlib import Path

import pytest

from canton import __version__
from canton.cli.session.follow import NEED_REASON
from canton.client import credentials
from canton.policy.permissions import PERMISSIONS
from cli.command_result import Run
from client import samples
from client.scripted_server import Reply, Script, items, problem

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
        result = canton("operation", "show", "op_1")
        assert result.status == 0
        assert "canton: the first of 2 failures: x1000c0s0b0n0: BMC 0 does not answer\n" in result.err

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
        result = canton(noun, "list", "--tenant", "nosuch", *options)
        assert (result.status, result.out) == (3, "")
        assert 'there is no tenant "nosuch" that you may see' in result.err

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
        result = canton(noun, "list")
        assert (result.status, result.out) == (0, "")
        assert NO_ROLE in result.err

    def test_whoami_says_whom_to_ask(self, canton: Run) -> None:
        assert NO_ROLE in canton("whoami").err

    def test_an_applied_file_is_refused_for_the_true_reason(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/roles", items())
        text = "tenants: [{name: psi, members: [{subject: 'cscs:bob', role: tenant-admin}]}]"
        result = canton("apply", "-f", "-", stdin=text)
        assert result.status == 4
        assert "there is no role" not in result.err
        assert "you may not read roles" in result.err


def test_the_version_of_the_client_needs_no_server(canton: Run) -> None:
    result = canton("version", "--server", "http://127.0.0.1:9")
    assert (result.status, result.out) == (8, f"client  {__version__}\n")
    assert "127.0.0.1:9" in result.err


class TestAQuotaWithoutLimit:
    def test_is_shown_as_such(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/tenants/psi/quota", Reply(body=samples.quota(nodes=None)))
        assert "nodes:                  no limit\n" in canton("quota", "show", "psi").out

    def test_is_explained(self, canton: Run) -> None:
        result = canton("quota", "set", "psi", "--nodes", "unlimited")
        assert result.status == 2
        assert "write none for no limit" in result.err
        assert canton("quota", "set", "--help").out.count("none: no limit") == 3


class TestALoginThatEnds:
    def test_renews_itself(self, canton: Run, context: Script, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("CANTON_TOKEN")
        stored_login: credentials.StoredLogin = {"server": context.url, "access_token": "a", "refresh_token": "r"}
        credentials.write(home / "state/canton/credentials/alps.json", stored_login)
        context.on("GET /v1/whoami", Reply(body=samples.whoami(expires_at=samples.AT)))
        assert "the login renews itself" in canton("whoami").err

    def test_does_not_with_a_token_alone(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/whoami", Reply(body=samples.whoami(expires_at=samples.AT)))
        assert "renews" not in canton("whoami").err


def test_a_mistake_that_many_rows_share_is_named_once(canton: Run, script: Script) -> None:
    wrong = [{"row": n, "what": 'there is no tenant "psi"; create it first'} for n in range(1, 101)]
    script.on("POST /v1/nodes/import", problem(409, "conflict", "rows are wrong", rows=wrong, count=140))
    text = "xname,tenant\n" + "".join(f"x1000c0s{n}b0n0,psi\n" for n in range(140))
    result = canton("node", "import", "-", "--site", "alps", stdin=text)
    assert result.status == 5
    assert result.err.splitlines()[1:] == [
        '  <stdin>, lines 2-101: there is no tenant "psi"; create it first',
        "  and 40 more rows",
    ]


def invalid(*errors: tuple[str, str]) -> Reply:
    wrong = [{"where": where, "what": what} for where, what in errors]
    mistakes = "; ".join(f"{where}: {what}" for where, what in errors)
    detail = f"the request is not valid: {mistakes}. Correct it and send it again"
    return problem(400, "invalid-request", detail, errors=wrong)


STATES = "Input should be 'discovered', 'free', 'assigned' or 'quarantined'"


class TestARefusalInTheWordsOfTheCommandLine:
    @pytest.mark.parametrize(
        ("line", "request_line", "reply", "message"),
        [
            (
                "node list --selector state=fre",
                "GET /v1/nodes",
                invalid(("query.state", STATES)),
                '--selector state: "fre" is not one of discovered, free, assigned, quarantined; did you mean "free"?',
            ),
            (
                "operation list --state don",
                "GET /v1/operations",
                invalid(("query.state", "Input should be 'running' or 'done'")),
                '--state: "don" is not one of running, done; did you mean "done"?',
            ),
            (
                "service-account create ci --tenant psi",
                "POST /v1/service-accounts",
                invalid(("body.permissions", "List should have at least 1 item after validation, not 0")),
                "--permission: give at least one; look with: canton role list -c name,permissions",
            ),
            (
                "tenant show PSI!",
                "GET /v1/tenants/PSI%21",
                invalid(("path.name", "must be lower case")),
                "TENANT: must be lower case",
            ),
            (
                "member add cscs:a auditor --tenant psi",
                "POST /v1/bindings",
                problem(400, "invalid-request", 'the role "auditor" is bound at the provider: leave the tenant null'),
                'the role "auditor" is for the provider: give --provider',
            ),
            (
                "can-i node fly",
                "GET /v1/can-i",
                problem(400, "invalid-request", 'there is no permission "node.fly"; did you mean "node.enroll"?'),
                'there is no permission "node.fly"; look with: canton role list -c name,permissions',
            ),
            (
                "can-i node asign",
                "GET /v1/can-i",
                problem(400, "invalid-request", 'there is no permission "node.asign"; did you mean "node.assign"?'),
                'there is no permission "node.asign"; did you mean "node.assign"?',
            ),
        ],
    )
    def test_names_the_option_and_the_nearest(
        self, canton: Run, script: Script, line: str, request_line: str, reply: Reply, message: str
    ) -> None:
        script.on(request_line, reply)
        result = canton(*line.split())
        assert (result.status, result.err) == (2, f"canton: {message}\n")

    def test_names_the_variable_that_holds_the_token(
        self, canton: Run, script: Script, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CANTON_TOKEN", "abc")
        script.on("GET /v1/whoami", problem(401, "token-invalid", "the token is not a signed JWT"))
        result = canton("whoami")
        assert result.status == 4
        assert result.err == "canton: the token is not a signed JWT; the token comes from CANTON_TOKEN\n"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("power on x1", "The noun comes first here: canton node power on x1"),
        ("suspend psi", "The noun comes first here: canton tenant suspend psi"),
        ("follow op_1", "The noun comes first here: canton operation follow op_1 or canton event follow op_1"),
        ("frobnicate", "No such command 'frobnicate'."),
        ("node list --selector", "Option '--selector' requires an argument.\nTry: canton node list --help"),
    ],
)
def test_a_mistyped_command_is_answered_with_the_one_that_is_meant(canton: Run, typed: str, message: str) -> None:
    result = canton(*typed.split())
    assert result.status == 2
    assert result.err.startswith(f"canton: {message}\n")


def test_https_to_a_plain_server_says_so(canton: Run, script: Script) -> None:
    result = canton("whoami", "--server", script.url.replace("http:", "https:"))
    assert result.status == 8
    assert f"the server does not speak TLS there; try {script.url}\n" in result.err
