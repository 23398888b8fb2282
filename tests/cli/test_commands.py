"""Every command against a scripted server: its requests, its output, its exit code."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, NamedTuple

import pytest

from canton import __version__
from cli.command_result import Run
from client import samples
from client.scripted_server import Reply, Script, items, problem


class Read(NamedTuple):
    line: str
    request_line: str
    query: dict[str, str]
    reply: Reply
    printed: str


class Change(NamedTuple):
    line: str
    request_line: str
    body: Any
    reply: Reply
    message: str


READS = [
    Read("site list", "GET /v1/sites", {}, items(samples.site()), "alps  Lugano"),
    Read("site show alps", "GET /v1/sites/alps", {}, Reply(body=samples.site()), "Lugano"),
    Read(
        "tenant list --state active --sort -name",
        "GET /v1/tenants",
        {"state": "active", "sort": "-name"},
        items(samples.tenant()),
        "psi   active  4      Villigen",
    ),
    Read("tenant show psi", "GET /v1/tenants/psi", {}, Reply(body=samples.tenant()), "Villigen"),
    Read(
        "member list --tenant psi --role tenant-admin",
        "GET /v1/bindings",
        {"tenant": "psi", "role": "tenant-admin"},
        items(samples.binding()),
        "cscs:alice",
    ),
    Read(
        "member list --provider", "GET /v1/bindings", {"provider": "true"}, items(samples.binding(tenant=None)), "bd_1"
    ),
    Read("quota show psi", "GET /v1/tenants/psi/quota", {}, Reply(body=samples.quota()), "64"),
    Read(
        "role list",
        "GET /v1/roles",
        {},
        items(samples.role()),
        "auditor  provider  sees",
    ),
    Read("node show x1000c0s0b0n0", "GET /v1/nodes/x1000c0s0b0n0", {}, Reply(body=samples.node()), "x1000c0s0b0n0"),
    Read(
        "node list --selector state=free,tenant=-",
        "GET /v1/nodes",
        {"state": "free", "tenant": "-"},
        items(samples.node()),
        "x1000c0s0b0n0",
    ),
    Read(
        "operation list --state running --kind node.power --actor cscs:alice --node x1",
        "GET /v1/operations",
        {"state": "running", "kind": "node.power", "actor": "cscs:alice", "node": "x1"},
        items(samples.operation()),
        "op_1",
    ),
    Read(
        "operation show op_1",
        "GET /v1/operations/op_1",
        {},
        Reply(body=samples.operation()),
        "power off x1000c0s0b0n[0-1]",
    ),
    Read(
        "operation show op_1 --steps",
        "GET /v1/operations/op_1/steps",
        {},
        items(samples.step(1, "x1000c0s0b0n0")),
        "set_power/1",
    ),
    Read("plan list", "GET /v1/plans", {}, items(samples.listed_plan()), "sha256:aa"),
    Read(
        "plan show sha256:aa", "GET /v1/plans/sha256:aa", {}, Reply(body=samples.plan()), "set_power/1  x1000c0s0b0n0"
    ),
    Read("approval list --state pending", "GET /v1/approvals", {"state": "pending"}, items(samples.approval()), "ap_1"),
    Read("approval show ap_1", "GET /v1/approvals/ap_1", {}, Reply(body=samples.approval()), "/v1/tenants/psi"),
    Read(
        "event list --subject psi", "GET /v1/events", {"subject": "psi"}, items(samples.event()), "tenant.created  psi"
    ),
    Read(
        "audit list --actor cscs:alice --action tenant.create --subject psi",
        "GET /v1/audit",
        {"actor": "cscs:alice", "action": "tenant.create", "subject": "psi"},
        items(samples.record()),
        "tenant.create",
    ),
    Read(
        "service-account list --tenant psi",
        "GET /v1/service-accounts",
        {"tenant": "psi"},
        items(samples.account()),
        "sa_1  ci",
    ),
    Read("service-account show sa_1", "GET /v1/service-accounts/sa_1", {}, Reply(body=samples.account()), "node.read"),
    Read("service-account token list sa_1", "GET /v1/service-accounts/sa_1/tokens", {}, items(samples.token()), "tk_1"),
    Read("whoami", "GET /v1/whoami", {}, Reply(body=samples.whoami()), "tenant-admin  psi"),
]


@pytest.mark.parametrize("case", READS, ids=[case.line for case in READS])
def test_reading(canton: Run, script: Script, case: Read) -> None:
    script.on(case.request_line, case.reply)
    result = canton(*case.line.split())
    assert (result.status, result.err) == (0, "")
    assert case.printed in result.out
    # For an operation that has not ended, the command line also asks whether there is a worker.
    [request] = [sent_request for sent_request in script.requests if sent_request.line != "GET /readyz"]
    assert request.line == case.request_line
    assert {name: value for name, value in request.query.items() if name != "limit"} == case.query
    assert request.headers["authorization"] == "Bearer secret-token"
    assert "idempotency-key" not in request.headers


@pytest.mark.parametrize("case", READS, ids=[case.line for case in READS])
def test_json_is_the_body_of_the_api(canton: Run, script: Script, case: Read) -> None:
    script.on(case.request_line, case.reply)
    result = canton(*case.line.split(), "-o", "json")
    assert json.loads(result.out) == case.reply.body


LIMITS = {"nodes": 9, "open_operations": 4, "service_accounts": 8}
CHANGES = [
    Change(
        "site create alps --description Lugano",
        "POST /v1/sites",
        {"name": "alps", "description": "Lugano"},
        Reply(201, samples.site()),
        "created site alps",
    ),
    Change(
        "site update alps --description Lugano",
        "PATCH /v1/sites/alps",
        {"description": "Lugano"},
        Reply(body=samples.site()),
        "updated site alps",
    ),
    Change("site delete alps", "DELETE /v1/sites/alps", None, Reply(204), "deleted site alps"),
    Change(
        "tenant create psi", "POST /v1/tenants", {"name": "psi"}, Reply(201, samples.tenant()), "created tenant psi"
    ),
    Change(
        "tenant update psi --description new",
        "PATCH /v1/tenants/psi",
        {"description": "new"},
        Reply(body=samples.tenant()),
        "updated tenant psi",
    ),
    Change(
        "tenant suspend psi",
        "POST /v1/tenants/psi/suspend",
        None,
        Reply(body=samples.tenant(state="suspended")),
        "suspended tenant psi",
    ),
    Change(
        "tenant resume psi", "POST /v1/tenants/psi/resume", None, Reply(body=samples.tenant()), "resumed tenant psi"
    ),
    Change("tenant delete psi", "DELETE /v1/tenants/psi", None, Reply(204), "deleted tenant psi"),
    Change(
        "member add cscs:alice tenant-admin --tenant psi",
        "POST /v1/bindings",
        {"subject": "cscs:alice", "role": "tenant-admin", "tenant": "psi"},
        Reply(201, samples.binding()),
        "cscs:alice is tenant-admin in psi",
    ),
    Change(
        "member add cscs:alice auditor --provider --until 2027-01-31T18:00:00+01:00",
        "POST /v1/bindings",
        {"subject": "cscs:alice", "role": "auditor", "tenant": None, "until": "2027-01-31T17:00:00.000000Z"},
        Reply(201, samples.binding()),
        "at the provider",
    ),
    Change(
        "member remove bd_1",
        "DELETE /v1/bindings/bd_1",
        None,
        Reply(204),
        "cscs:alice is no longer tenant-admin in psi",
    ),
    Change(
        "operation retry op_1",
        "POST /v1/operations/op_1/retry",
        None,
        Reply(202, samples.operation()),
        "retry was accepted",
    ),
    Change(
        "operation undo op_1",
        "POST /v1/operations/op_1/undo",
        None,
        Reply(202, samples.operation()),
        "undo was accepted",
    ),
    Change(
        "operation abandon op_1",
        "POST /v1/operations/op_1/abandon",
        None,
        Reply(202, samples.operation()),
        "abandon was accepted",
    ),
    Change(
        "operation cancel op_1",
        "POST /v1/operations/op_1/cancel",
        None,
        Reply(202, samples.operation()),
        "cancel was accepted",
    ),
    Change(
        "approval approve ap_1",
        "POST /v1/approvals/ap_1/approve",
        None,
        Reply(body=samples.approval("approved")),
        "cscs:alice can now repeat",
    ),
    Change(
        "approval refuse ap_1",
        "POST /v1/approvals/ap_1/refuse",
        None,
        Reply(body=samples.approval("refused")),
        "refused ap_1",
    ),
    Change(
        "quota set psi --nodes 9",
        "PUT /v1/tenants/psi/quota",
        LIMITS,
        Reply(body=samples.quota()),
        "set the quota of psi",
    ),
    Change(
        "quota set psi --nodes none",
        "PUT /v1/tenants/psi/quota",
        LIMITS | {"nodes": None},
        Reply(body=samples.quota()),
        "set the quota of psi",
    ),
    Change(
        "service-account create ci --tenant psi --permission node.read --permission node.power",
        "POST /v1/service-accounts",
        {"name": "ci", "tenant": "psi", "permissions": ["node.read", "node.power"], "description": ""},
        Reply(201, samples.account()),
        "created service account ci",
    ),
    Change(
        "service-account delete sa_1",
        "DELETE /v1/service-accounts/sa_1",
        None,
        Reply(204),
        "deleted service account ci",
    ),
    Change(
        "service-account token create sa_1 --ttl 1h",
        "POST /v1/service-accounts/sa_1/tokens",
        {"ttl": 3600},
        Reply(201, samples.issued_token()),
        "not shown again",
    ),
    Change(
        "service-account token rotate sa_1 --overlap 5m",
        "POST /v1/service-accounts/sa_1/rotate",
        {"overlap": 300},
        Reply(201, samples.issued_token()),
        "not shown again",
    ),
    Change(
        "service-account token revoke sa_1 tk_1",
        "DELETE /v1/service-accounts/sa_1/tokens/tk_1",
        None,
        Reply(204),
        "revoked tk_1",
    ),
    Change(
        "node power on x1000c0s0b0n[0-1]",
        "POST /v1/nodes/power",
        {"nodes": "x1000c0s0b0n[0-1]", "to": "on"},
        Reply(202, samples.operation()),
        "canton operation follow op_1",
    ),
    Change(
        "node power off x1 --plan sha256:aa",
        "POST /v1/nodes/power",
        {"nodes": "x1", "to": "off", "plan": "sha256:aa"},
        Reply(202, samples.operation()),
        "canton operation follow op_1",
    ),
    *(
        Change(line, f"POST /v1/nodes/{verb}", body, Reply(202, samples.operation()), "canton operation follow op_1")
        for verb, line, body in (
            ("enroll", "node enroll x1 --sanitised-by-hand", {"nodes": "x1", "sanitised_by_hand": True}),
            ("assign", "node assign x1 --tenant psi", {"nodes": "x1", "tenant": "psi"}),
            ("release", "node release x1", {"nodes": "x1"}),
            ("maintenance", "node maintenance x1", {"nodes": "x1", "power": "off"}),
            ("maintenance", "node maintenance x1 --leave-power", {"nodes": "x1", "power": "unchanged"}),
            ("retire", "node retire x1 --plan sha256:aa", {"nodes": "x1", "plan": "sha256:aa"}),
        )
    ),
    Change("node delete x1", "POST /v1/nodes/delete", {"nodes": "x1"}, Reply(body={"nodes": "x1", "count": 1}), ""),
]


def answer_reads(script: Script) -> None:
    """Answer what some changes read first."""
    script.on("GET /v1/operations/op_1", Reply(body=samples.operation()))
    script.on("GET /v1/approvals/ap_1", Reply(body=samples.approval()))
    script.on("GET /v1/tenants/psi/quota", Reply(body=samples.quota()))
    script.on("GET /v1/service-accounts/sa_1", Reply(body=samples.account()))
    script.on("GET /v1/bindings/bd_1", Reply(body=samples.binding()))


@pytest.mark.parametrize("case", CHANGES, ids=[case.line for case in CHANGES])
def test_changing(canton: Run, script: Script, case: Change) -> None:
    answer_reads(script)
    script.on(case.request_line, case.reply)
    result = canton(*case.line.split(), "--reason", "Grüße, 17%")
    assert result.status == 0, result.err
    assert case.message in result.err
    request = script.last
    assert (request.line, request.body) == (case.request_line, case.body)
    assert request.headers["canton-reason"] == "Gr%C3%BC%C3%9Fe%2C 17%25"
    assert len(request.headers["idempotency-key"]) == 32


@pytest.mark.parametrize("line", [case.line for case in CHANGES] + ["apply -f -", "node import --site alps -"])
def test_a_read_only_context_changes_nothing(canton: Run, context: Script, line: str) -> None:
    canton("context", "set", "alps", "--read-only")
    answer_reads(context)
    result = canton(*line.split(), "--reason", "r", stdin="xname\nx1\n" if "import" in line else "sites: [{name: a}]")
    assert result.status == 4
    assert "the context alps is read_only" in result.err
    assert {request.method for request in context.requests} <= {"GET"}


def test_a_read_only_context_still_plans(canton: Run, context: Script) -> None:
    canton("context", "set", "alps", "--read-only")
    context.on("POST /v1/nodes/power", Reply(body=samples.plan()))
    assert canton("node", "power", "off", "x1", "--dry-run").status == 0


class TestAServiceAccountByItsName:
    @pytest.fixture(autouse=True)
    def accounts(self, script: Script) -> None:
        script.on("GET /v1/service-accounts", items(samples.account(), samples.account(id="sa_2", name="cd")))

    def test_is_looked_up(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/service-accounts/sa_2/tokens", items(samples.token()))
        script.on("DELETE /v1/service-accounts/sa_2", Reply(204))
        assert canton("service-account", "show", "cd", "-q").out == "sa_2\n"
        assert canton("service-account", "token", "list", "cd", "-q").out == "tk_1\n"
        assert "deleted service account cd\n" in canton("service-account", "delete", "cd", "--reason", "old").err

    def test_that_no_account_has_is_not_found(self, canton: Run) -> None:
        result = canton("service-account", "show", "cdd")
        assert result.status == 3
        assert 'there is no service account "cdd" that you may see; did you mean "cd"?' in result.err

    def test_that_accounts_of_two_tenants_have_is_a_mistake(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/service-accounts", items(samples.account(), samples.account(id="sa_2", tenant="cscs")))
        result = canton("service-account", "show", "ci")
        assert result.status == 2
        assert "give the id of one: sa_1 (psi), sa_2 (cscs)" in result.err


def test_a_token_is_printed_once_and_alone(canton: Run, script: Script) -> None:
    script.on("POST /v1/service-accounts/sa_1/tokens", Reply(201, samples.issued_token()))
    assert canton("service-account", "token", "create", "sa_1").out == "canton_secret\n"
    assert json.loads(canton("service-account", "token", "create", "sa_1", "-o", "json").out) == samples.issued_token()


class TestAlreadySo:
    @pytest.mark.parametrize("verb", ["suspend", "resume"])
    def test_is_success_and_said(self, canton: Run, script: Script, verb: str) -> None:
        script.on(f"POST /v1/tenants/psi/{verb}", Reply(body=samples.tenant(), headers={"Canton-Unchanged": "true"}))
        result = canton("tenant", verb, "psi", "--reason", "r")
        assert result.status == 0
        assert "is already" in result.err
        assert "nothing to do" in result.err

    def test_a_quota_that_is_so_is_not_set(self, canton: Run, script: Script) -> None:
        answer_reads(script)
        result = canton("quota", "set", "psi", "--nodes", "64")
        assert result.status == 0
        assert "already has these limits" in result.err
        assert script.lines() == ["GET /v1/tenants/psi/quota"]


def test_quiet_prints_the_id_alone(canton: Run, script: Script) -> None:
    script.on("POST /v1/sites", Reply(201, samples.site()))
    assert canton("site", "create", "alps", "-q") == (0, "alps\n", "")


@pytest.mark.parametrize("number", ["-3", "many", "1.5"])
def test_a_quota_that_is_no_count_is_refused_in_words(canton: Run, script: Script, number: str) -> None:
    result = canton("quota", "set", "psi", "--nodes", number)
    assert f"'{number}' is not a whole number from 0 to 999999999; write none for no limit" in result.err
    assert (result.status, script.requests) == (2, [])


def test_a_quota_is_set_against_the_version_that_was_read(canton: Run, script: Script) -> None:
    answer_reads(script)
    script.on("PUT /v1/tenants/psi/quota", problem(412, "version-mismatch", "it moved"))
    result = canton("quota", "set", "psi", "--nodes", "9")
    assert result.status == 5
    assert script.last.headers["if-match"] == '"5"'


def test_a_member_is_removed_by_name(canton: Run, script: Script) -> None:
    script.on("GET /v1/bindings", items(samples.binding("bd_1"), samples.binding("bd_2", role="tenant-viewer")))
    script.on("DELETE /v1/bindings/bd_1", Reply(204))
    script.on("DELETE /v1/bindings/bd_2", Reply(204))
    assert canton("member", "remove", "cscs:alice", "--tenant", "psi", "--reason", "left") == (
        0,
        "",
        "canton: cscs:alice is no longer tenant-admin in psi\ncanton: cscs:alice is no longer tenant-viewer in psi\n",
    )
    assert script.requests[0].query == {"tenant": "psi", "subject": "cscs:alice", "limit": "1000"}
    assert script.lines()[1:] == ["DELETE /v1/bindings/bd_1", "DELETE /v1/bindings/bd_2"]


def test_removing_a_role_that_was_not_granted_is_not_found(canton: Run, script: Script) -> None:
    script.on("GET /v1/bindings", items())
    result = canton("member", "remove", "cscs:alice", "tenant-admin", "--tenant", "psi", "--reason", "left")
    assert (result.status, result.out) == (3, "")
    assert "cscs:alice was not given the role tenant-admin in psi" in result.err


class TestCanI:
    decision: ClassVar = samples.decision(reason="it does not hold it")

    @pytest.mark.parametrize(("allowed", "status", "word"), [(True, 0, "yes"), (False, 4, "no")])
    def test_the_exit_code_answers(self, canton: Run, script: Script, allowed: bool, status: int, word: str) -> None:
        script.on("GET /v1/can-i", Reply(body=self.decision | {"allowed": allowed}))
        result = canton("can-i", "tenants", "delete", "--tenant", "psi")
        assert result == (status, f"{word}: it does not hold it (rule role:tenant-admin)\n", "")
        assert script.last.query == {"permission": "tenant.delete", "tenant": "psi"}

    def test_in_json(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/can-i", Reply(body=self.decision | {"allowed": False}))
        result = canton("can-i", "tenant", "delete", "-o", "json")
        assert result.status == 4
        assert json.loads(result.out) == self.decision | {"allowed": False}


class TestProblems:
    @pytest.mark.parametrize(
        ("status", "code", "exit_code"),
        [
            (404, "unknown-tenant", 3),
            (403, "forbidden", 4),
            (401, "token-invalid", 4),
            (409, "not-empty", 5),
            (400, "reason-required", 2),
            (500, "invariant-broken", 1),
            (418, "brand-new", 2),
            (404, "brand-new", 3),
            (502, "brand-new", 1),
        ],
    )
    def test_end_with_the_code_of_the_tree(
        self, canton: Run, script: Script, status: int, code: str, exit_code: int
    ) -> None:
        script.on("GET /v1/tenants/psi", problem(status, code, "no such thing as \x1b[2Jpsi"))
        result = canton("tenant", "show", "psi")
        assert (result.status, result.out) == (exit_code, "")
        assert result.err.startswith("canton: no such thing as \\x1b[2Jpsi")

    def test_an_unreachable_server_is_8(self, canton: Run) -> None:
        result = canton("tenant", "list", "--server", "http://127.0.0.1:1")
        assert result.status == 8
        assert "http://127.0.0.1:1 cannot be reached" in result.err

    def test_a_web_page_is_not_canton(self, canton: Run, script: Script) -> None:
        script.version = ""
        script.on("GET /v1/tenants", Reply(raw=b"<html>", headers={"Content-Type": "text/html"}))
        result = canton("tenant", "list")
        assert result.status == 8
        assert "not as Canton does (text/html)" in result.err

    def test_no_server_says_what_to_do(self, canton: Run) -> None:
        result = canton("tenant", "list")
        assert result.status == 2
        assert "canton login --server" in result.err


class TestApproval:
    needed = problem(403, "approval-required", "a second person", approval="ap_1", permission="tenant.delete")

    def test_says_who_does_what_next(self, canton: Run, script: Script) -> None:
        script.on("DELETE /v1/tenants/psi", self.needed)
        result = canton("tenant", "delete", "psi", "--reason", "contract ended")
        assert result.status == 4
        assert "a second person with the permission tenant.delete runs\n  canton approval approve ap_1" in result.err
        assert "canton tenant delete psi --reason 'contract ended' --approval ap_1" in result.err

    def test_the_approval_goes_with_the_repeated_request(self, canton: Run, script: Script) -> None:
        script.on("DELETE /v1/tenants/psi", Reply(204))
        assert canton("tenant", "delete", "psi", "--reason", "left", "--approval", "ap_1").status == 0
        assert script.last.headers["canton-approval"] == "ap_1"

    def test_can_be_waited_for(self, canton: Run, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("canton.cli.session.change.POLL_INTERVAL", 0.01)
        script.on("DELETE /v1/tenants/psi", self.needed, Reply(204))
        script.on("GET /v1/approvals/ap_1", Reply(body=samples.approval()), Reply(body=samples.approval("approved")))
        assert canton("tenant", "delete", "psi", "--reason", "left", "--wait-approval").status == 0
        assert script.last.headers["canton-approval"] == "ap_1"

    def test_a_refusal_ends_the_wait(self, canton: Run, script: Script) -> None:
        script.on("DELETE /v1/tenants/psi", self.needed)
        refused_approval = samples.approval("refused", decided_reason="not before Monday")
        script.on("GET /v1/approvals/ap_1", Reply(body=refused_approval))
        result = canton("tenant", "delete", "psi", "--reason", "left", "--wait-approval")
        assert result.status == 4
        assert "approval ap_1 is refused: not before Monday" in result.err


class TestHabits:
    def test_a_plural_is_a_singular(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/tenants", items(samples.tenant()))
        assert canton("tenants", "list", "-q") == (0, "psi\n", "")

    @pytest.mark.parametrize(
        ("typed", "corrected"),
        [
            (["get", "tenants", "-q"], "canton tenant list -q"),
            (["get", "tenant", "psi", "-q"], "canton tenant show psi -q"),
            (["describe", "tenants", "psi", "-q"], "canton tenant show psi -q"),
        ],
    )
    def test_a_verb_before_its_noun_is_understood(
        self, canton: Run, script: Script, typed: list[str], corrected: str
    ) -> None:
        script.on("GET /v1/tenants", items(samples.tenant()))
        script.on("GET /v1/tenants/psi", Reply(body=samples.tenant()))
        assert canton(*typed) == (0, "psi\n", f"canton: the noun comes first here: {corrected}\n")

    def test_global_options_stand_before_or_after(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/operations", items(samples.operation()))
        for line in (["--tenant", "psi", "operation", "list"], ["operation", "list", "--tenant", "psi"]):
            assert canton(*line).status == 0
            assert script.last.query["tenant"] == "psi"
        script.on("GET /v1/tenants", items(samples.tenant()))
        assert canton("-o", "name", "tenant", "list").out == "tenant/psi\n"
        result = canton("-o", "jsno", "tenant", "list")
        assert result.status == 2

    def test_all_tenants_overrules_the_context(
        self, canton: Run, script: Script, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("CANTON_TENANT", "psi")
        script.on("GET /v1/operations", items(samples.operation()))
        canton("operation", "list")
        canton("operation", "list", "-A")
        assert [request.query.get("tenant") for request in script.requests] == ["psi", None]


class TestVerbosity:
    def test_says_requests_and_their_ids_on_stderr(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/tenants", items(samples.tenant()))
        result = canton("tenant", "list", "-q", "-v")
        assert result.out == "psi\n"
        assert "GET /v1/tenants?limit=1000: 200 in " in result.err
        assert "request req-1" in result.err

    def test_debug_shows_a_curl_line_without_the_token(self, canton: Run, script: Script) -> None:
        script.on("POST /v1/tenants", Reply(201, samples.tenant()))
        result = canton("tenant", "create", "psi", "--debug", "-vv")
        assert f"curl -X POST {script.url}/v1/tenants" in result.err
        assert '--data-raw \'{"name": "psi"}\'' in result.err
        assert "Authorization: Bearer …" in result.err
        assert "secret-token" not in result.err


class TestVersion:
    def test_of_both(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/version", Reply(body={"version": "0.2.0", "api": "v1", "login": None}))
        result = canton("version")
        assert (result.status, result.err) == (0, "")
        assert result.out == f"client  {__version__}\nserver  0.2.0  {script.url}\n"
        versions = json.loads(canton("version", "-o", "json").out)
        assert versions == {"client": __version__, "server": "0.2.0", "url": script.url}

    def test_without_a_server(self, canton: Run) -> None:
        assert canton("version") == (0, f"client  {__version__}\n", "")

    def test_a_server_that_is_away_is_a_failure(self, canton: Run) -> None:
        assert canton("version", "--server", "http://127.0.0.1:9").status == 8


class TestHelp:
    @pytest.mark.parametrize(
        "command", [[], ["node"], ["nodes", "power"], ["node", "power", "on"], ["audit", "verify"]]
    )
    def test_is_what_help_says(self, canton: Run, command: list[str]) -> None:
        result = canton("help", *command)
        assert result.status == 0
        assert result.out.split("Usage:")[1].splitlines()[1:] == canton(*command, "--help").out.splitlines()[1:]

    def test_an_unknown_command_is_a_mistake(self, canton: Run) -> None:
        result = canton("help", "node", "pwoer")
        assert result.status == 2
        assert result.err == "canton: No such command 'pwoer'. Did you mean 'power'?\nTry: canton node --help\n"


def test_a_role_that_is_not_there_names_the_nearest(canton: Run, script: Script) -> None:
    script.on("GET /v1/roles", items(samples.role()))
    result = canton("role", "show", "auditr")
    assert result.status == 3
    assert 'there is no role "auditr"; did you mean "auditor"?' in result.err


def test_a_role_is_shown_with_its_permissions(canton: Run, script: Script) -> None:
    auditor = samples.role()
    script.on("GET /v1/roles", items(auditor))
    assert "permissions:  a.b\n" in canton("role", "show", "auditor").out
    assert json.loads(canton("role", "show", "auditor", "-o", "json").out) == auditor


def test_a_node_is_shown_by_its_number(canton: Run, script: Script) -> None:
    script.on("GET /v1/nodes", items(samples.node()))
    assert json.loads(canton("node", "show", "nid000001", "-o", "json").out) == samples.node()
    assert script.requests[-1].query["nodeset"] == "nid000001"


class TestSince:
    """``--since`` and the newest events."""

    def test_the_newest_events_in_their_order(self, canton: Run, script: Script) -> None:
        later, earlier = samples.event("b", at="2026-11-15T23:07:22.000000Z"), samples.event("a")
        script.on("GET /v1/events", items(later, earlier))
        result = canton("event", "list", "--limit", "2", "-o", "csv", "-c", "kind", "--no-headers")
        assert result.out == "a\nb\n"
        assert script.last.query["newest"] == "2"

    @pytest.mark.parametrize("noun", ["event", "audit", "operation"])
    def test_an_instant_a_day_or_a_duration(self, canton: Run, script: Script, noun: str) -> None:
        path = {"event": "events", "audit": "audit", "operation": "operations"}[noun]
        item = {"event": samples.event, "audit": samples.record, "operation": samples.operation}[noun]()
        script.on(f"GET /v1/{path}", items(item))
        for when, expected in [
            ("2026-11-15", "2026-11-15T00:00:00.000000Z"),
            ("2026-11-15T18:00:00+01:00", "2026-11-15T17:00:00.000000Z"),
        ]:
            assert canton(noun, "list", "--since", when).status == 0
            assert script.last.query["since"] == expected
        an_hour_ago = datetime.now(UTC) - timedelta(hours=1, seconds=5)
        assert canton(noun, "list", "--since", "1h").status == 0
        sent_at = datetime.fromisoformat(script.last.query["since"])
        assert an_hour_ago < sent_at < datetime.now(UTC) - timedelta(minutes=59)

    @pytest.mark.parametrize("when", ["yesterday", "2026-11-15T18:00:00", "1y", ""])
    def test_what_is_no_time_reaches_no_server(self, canton: Run, script: Script, when: str) -> None:
        result = canton("event", "list", "--since", when)
        assert result.status == 2
        assert script.requests == []
