"""Operations: plans, waiting, partial failure; sets of nodes on the command line; import; watching."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from canton.cli.session import follow
from canton.client import events as streams
from canton.client import nodes as machine
from cli.command_result import Run
from client import samples
from client.scripted_server import Reply, Script, items, problem


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "QUICKEST_LOOK", 0.001)
    monkeypatch.setattr(streams, "LONGEST_PAUSE", 0.001)


def story(script: Script, *states: tuple[str, int], steps: list[dict[str, Any]] | None = None, failed: int = 0) -> None:
    operations = [samples.operation(state, steps_done) for state, steps_done in states]
    operations[-1]["steps"]["failed"] = failed
    script.on("POST /v1/nodes/power", Reply(202, samples.operation()))
    script.on("GET /v1/operations/op_1", *(Reply(body=operation) for operation in operations))
    default = [samples.step(n, f"x1000c0s0b0n{n}") for n in range(2)]
    script.on("GET /v1/operations/op_1/steps", items(*(default if steps is None else steps)))


POWER = ("node", "power", "off", "x1000c0s0b0n[0-1]")


class TestWaiting:
    def test_off_a_terminal_it_returns_at_once_and_says_how_to_follow(self, canton: Run, script: Script) -> None:
        story(script, ("running", 1))
        assert canton(*POWER).err == "canton: follow it with: canton operation follow op_1\n"
        assert script.lines() == ["POST /v1/nodes/power"]
        assert canton(*POWER, "-q") == (0, "op_1\n", "")

    def test_to_the_end(self, canton: Run, script: Script) -> None:
        story(script, ("queued", 0), ("running", 1), ("done", 2))
        assert canton(*POWER, "--wait") == (0, "x1000c0s0b0n[0-1]: done\n", "")

    def test_in_json_it_is_the_operation(self, canton: Run, script: Script) -> None:
        story(script, ("done", 2))
        assert json.loads(canton(*POWER, "--wait", "-o", "json").out) == samples.operation("done", 2)

    def test_some_nodes_failed(self, canton: Run, script: Script) -> None:
        error = {"code": "permanent-failure", "message": "BMC says\x1b[2J no"}
        steps = [samples.step(1, "x1000c0s0b0n0"), samples.step(2, "x1000c0s0b0n1", "failed", error=error)]
        story(script, ("needs_attention", 1), steps=steps, failed=1)
        result = canton(*POWER, "--wait")
        assert (result.status, result.out) == (7, "x1000c0s0b0n0: done\nx1000c0s0b0n1: failed\n")
        assert "canton: failed: x1000c0s0b0n1\n" in result.err
        assert "BMC says\\x1b[2J no" in result.err
        assert "canton operation retry op_1" in result.err

    def test_all_nodes_failed(self, canton: Run, script: Script) -> None:
        story(script, ("needs_attention", 0), steps=[samples.step(1, "x1", "failed")], failed=1)
        assert canton(*POWER, "--wait").status == 1

    def test_time_is_up_and_the_work_goes_on(self, canton: Run, script: Script) -> None:
        story(script, ("running", 1))
        result = canton(*POWER, "--wait", "--timeout", "0s")
        assert result.status == 6
        assert "it goes on without you" in result.err
        assert "canton operation follow op_1" in result.err

    def test_without_a_worker_it_says_so(self, canton: Run, script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(follow, "QUIET_SECONDS", 0.0)
        problem = "no worker was seen within 60 s; start one: canton worker"
        checks = [{"name": "database", "ok": True}, {"name": "worker", "ok": False, "problem": problem}]
        script.on("GET /readyz", Reply(503, {"ok": False, "checks": checks}, headers={"Retry-After": "1"}))
        story(script, ("queued", 0))
        message = f"no worker carries it out; {problem}\n"
        assert canton("operation", "show", "op_1").err == f"canton: op_1 waits: {message}"
        waited = canton(*POWER, "--wait", "--timeout", "0s")
        assert (waited.status, waited.err) == (6, f"canton: op_1 is still queued: {message}")
        story(script, ("queued", 0), ("queued", 0), ("queued", 0), ("done", 2))
        assert canton(*POWER, "--wait") == (0, "x1000c0s0b0n[0-1]: done\n", f"canton: op_1 waits: {message}")
        story(script, ("done", 2))
        assert canton("operation", "show", "op_1").err == ""

    @pytest.mark.parametrize("verb", ["follow", "wait"])
    @pytest.mark.parametrize(("state", "status"), [("done", 0), ("undone", 1), ("needs_attention", 1)])
    def test_following_ends_as_the_work_did(
        self, canton: Run, script: Script, verb: str, state: str, status: int
    ) -> None:
        story(script, ("running", 1), (state, 2))
        assert canton("operation", verb, "op_1").status == status

    def test_following_in_json_has_a_line_for_every_change(self, canton: Run, script: Script) -> None:
        story(script, ("queued", 0), ("running", 1), ("done", 2))
        result = canton("operation", "follow", "op_1", "-o", "json")
        assert [json.loads(line)["state"] for line in result.out.splitlines()] == ["queued", "running", "done"]

    def test_an_undo_that_undid_is_a_success(self, canton: Run, script: Script) -> None:
        story(script, ("undoing", 1), ("undone", 2))
        script.on("POST /v1/operations/op_1/undo", Reply(202, samples.operation("undoing")))
        assert canton("operation", "undo", "op_1", "--wait", "-y", "--reason", "r").status == 0


class TestPlans:
    def test_a_dry_run_changes_nothing_and_gives_the_digest(self, canton: Run, script: Script) -> None:
        script.on("POST /v1/nodes/power", Reply(body=samples.plan()))
        result = canton(*POWER, "--dry-run")
        assert result.status == 0
        assert "--plan sha256:aa" in result.err
        assert script.last.query == {"dry_run": "true"}
        assert json.loads(canton(*POWER, "--dry-run", "-o", "json").out) == samples.plan()

    def test_a_plan_that_moved_is_a_conflict(self, canton: Run, script: Script) -> None:
        script.on("POST /v1/nodes/power", problem(409, "plan-moved", "x1 changed"))
        assert canton(*POWER, "--plan", "sha256:aa").status == 5


class TestSets:
    @pytest.fixture(autouse=True)
    def nodes(self, script: Script) -> None:
        script.on("GET /v1/nodes", items(samples.node("x7"), samples.node("x8")))
        script.on("POST /v1/nodes/power", Reply(202, samples.operation()))

    @pytest.mark.parametrize(
        ("arguments", "stdin", "node_names"),
        [
            (["x[1-3]!x2"], "", "x[1,3]"),
            (["x1", "x2"], "", "x[1-2]"),
            (["-"], "x1 x2\nx3\n", "x[1-3]"),
            (["x9", "-"], "x1", "x[1,9]"),
            (["@psi"], "", "x[7-8]"),
            (["@psi/alps!x8,x1"], "", "x[1,7]"),
            (["--selector", "state=free"], "", "x[7-8]"),
        ],
    )
    def test_are_sent_as_names(
        self, canton: Run, script: Script, arguments: list[str], stdin: str, node_names: str
    ) -> None:
        assert canton("node", "power", "on", *arguments, stdin=stdin).status == 0
        assert script.last.body["nodes"] == node_names

    def test_groups_are_a_tenant_and_a_site(self, canton: Run, script: Script) -> None:
        canton("node", "power", "on", "@psi/alps")
        assert script.requests[0].query == {"tenant": "psi", "site": "alps", "limit": "1000"}

    def test_a_selector_narrows_what_is_named(self, canton: Run, script: Script) -> None:
        canton("node", "power", "on", "x[1-9]", "--selector", "state=free,power=off")
        expected = {"nodeset": "x[1-9]", "state": "free", "power": "off", "limit": "1000"}
        assert script.requests[0].query == expected

    @pytest.mark.parametrize(
        ("arguments", "status", "message"),
        [
            ([], 2, "no nodes are named"),
            (["-"], 2, "name no nodes"),
            (["x1!x1"], 2, "name no nodes"),
            (["x[1-"], 2, "x[1-\n"),
            (["x1", "--selector", "stat=free"], 2, 'did you mean "state"?'),
            (["x1", "--selector", "state"], 2, "write state=VALUE"),
        ],
    )
    def test_mistakes_reach_no_server(
        self, canton: Run, script: Script, arguments: list[str], status: int, message: str
    ) -> None:
        result = canton("node", "power", "on", *arguments)
        assert result.status == status
        assert message in result.err
        assert script.requests == []

    def test_an_empty_group_is_never_the_whole_machine(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/nodes", items())
        for arguments in (["@psi"], ["--selector", "state=free"]):
            assert canton("node", "power", "off", *arguments).status == 3
        assert "POST /v1/nodes/power" not in script.lines()


class TestImport:
    def imported(self, canton: Run, text: str, *options: str) -> Any:
        return canton("node", "import", "-", *options, stdin=text)

    @pytest.fixture(autouse=True)
    def server(self, script: Script) -> None:
        script.on("POST /v1/nodes/import", Reply(body={"added": 2, "changed": 0, "unchanged": 1, "nodes": "x[1-3]"}))

    ROWS: ClassVar = [{"xname": "x1", "nid": 7, "state": "free"}, {"xname": "x2"}]

    @pytest.mark.parametrize(
        "text",
        [
            "xname,nid,state\nx1,7,free\n\nx2,,\n",
            "\ufeffxname,nid,state\r\nx1,7,free\r\nx2,,\r\n",
            json.dumps(ROWS),
            json.dumps({"nodes": ROWS, "site": "alps"}),
        ],
        ids=["csv", "csv of a spreadsheet", "json list", "json object"],
    )
    def test_is_one_request(self, canton: Run, script: Script, text: str) -> None:
        result = self.imported(canton, text, "--site", "alps")
        assert result == (0, "2 added, 0 changed, 1 unchanged\n", "")
        assert script.last.body == {"site": "alps", "nodes": self.ROWS}
        assert script.last.query == {}

    def test_a_dry_run_says_would(self, canton: Run, script: Script) -> None:
        result = self.imported(canton, "xname\nx1\n", "--site", "alps", "--dry-run")
        assert result.out == "2 would be added, 0 would be changed, 1 unchanged\n"
        assert script.last.query == {"dry_run": "true"}

    def test_nothing_new_is_said(self, canton: Run, script: Script) -> None:
        script.on("POST /v1/nodes/import", Reply(body={"added": 0, "changed": 0, "unchanged": 1, "nodes": "x1"}))
        assert "nothing to do" in self.imported(canton, "xname\nx1\n", "--site", "alps").err

    @pytest.mark.parametrize(
        ("text", "messages"),
        [
            ("xname,nidd\nx1,1\n", ['line 1: unknown column "nidd"; did you mean "nid"?']),
            ("nid\n1\n", ["line 1: no column xname"]),
            ("xname,nid\nx1\nx2,2\nx3,3,free\n", ["line 2: 1 cell, where", "line 4: 3 cells, where"]),
            ("x1100c1s6b0n0,7\n", ["line 1: the first line must name the columns: xname,nid,state,tenant"]),
            ('xname\n"x1\n', ["line 2: "]),
            ("[{]", ["is not JSON"]),
            ('[{"xnam": "x1"}, 7]', ["node 1: no xname", 'node 1: unknown key "xnam"', "node 2: 7 is not an object"]),
            ('{"node": []}', ['unknown key "node"; did you mean "nodes"?']),
            ('{"site": "daint", "nodes": []}', ["names the site daint, and --site names alps"]),
            ("", ["line 1: the first line must name the columns: xname,nid,state,tenant"]),
        ],
    )
    def test_every_mistake_is_named_with_its_line(
        self, canton: Run, script: Script, text: str, messages: list[str]
    ) -> None:
        result = self.imported(canton, text, "--site", "alps")
        assert (result.status, result.out) == (2, "")
        assert [line for line in messages if line not in result.err] == []
        assert script.requests == []

    def test_the_server_s_rows_are_lines_of_the_file(self, canton: Run, script: Script) -> None:
        wrong = [{"row": 2, "what": "x2 is no node's xname"}]
        script.on("POST /v1/nodes/import", problem(400, "invalid-request", "1 row is wrong", rows=wrong))
        result = self.imported(canton, "xname\nx1\n\nx2\n", "--site", "alps")
        assert result.status == 2
        assert result.err.startswith(
            "canton: nothing was imported: 1 row is wrong\n  <stdin>, line 4: x2 is no node's xname"
        )
        assert "row 2" not in result.err

    def test_rows_of_every_kind_of_mistake_reach_the_server_that_names_them_all(
        self, canton: Run, script: Script
    ) -> None:
        self.imported(canton, "xname,nid,state\nx1,one,\nnid7,,\nx2,,joining\n,4,\n", "--site", "alps")
        assert script.last.body["nodes"] == [
            {"xname": "x1", "nid": "one"},
            {"xname": "nid7"},
            {"xname": "x2", "state": "joining"},
            {"nid": 4},
        ]

    def test_rows_that_differ_only_in_their_node_are_one_line(self, canton: Run, script: Script) -> None:
        wrong = [{"row": n, "what": f"x1c0s{n}b0n0 is at site bern; import it there"} for n in (1, 2, 3, 5, 6)]
        wrong += [{"row": 4, "what": "nid: Input should be a valid integer"}]
        script.on("POST /v1/nodes/import", problem(409, "conflict", "the first is row 1", rows=wrong, count=204))
        text = "xname\n" + "".join(f"X1c0s{n}b0n0\n" for n in range(1, 7))
        assert self.imported(canton, text, "--site", "alps").err.splitlines()[:4] == [
            "canton: nothing was imported: 204 rows are wrong",
            "  <stdin>, lines 2-4, 6-7: the node is at site bern; import it there",
            "  <stdin>, line 5: nid: Input should be a valid integer",
            "  and 198 more rows",
        ]

    def test_no_site_is_asked_for(self, canton: Run) -> None:
        assert "no site is named" in self.imported(canton, "xname\nx1\n").err

    def test_not_text(self, canton: Run, tmp_path: Any) -> None:
        (tmp_path / "nodes").write_bytes(b"xname\n\xff\n")
        result = canton("node", "import", str(tmp_path / "nodes"), "--site", "alps")
        assert result.status == 2
        assert "is not UTF-8 text" in result.err


class TestWatching:
    @pytest.fixture(autouse=True)
    def stream(self, script: Script) -> None:
        events = [
            samples.event("tenant.created"),
            samples.event("node.changed", "x1"),
            samples.event("step.changed", "op_1"),
        ]
        text = "".join(f"id: {n}\nevent: e\ndata: {json.dumps(event)}\n\n" for n, event in enumerate(events, 1))
        live = Reply(raw=text.encode(), headers={"Content-Type": "text/event-stream"}, cut=True)
        # The refusal ends the watch, which would otherwise go on for ever.
        script.on("GET /v1/events", live, problem(401, "token-invalid", "enough"))
        script.on("GET /v1/nodes", items(samples.node()))

    @pytest.fixture
    def changing(self, script: Script) -> None:
        on, off = samples.node(), samples.node(power="off", version=2)
        second_node = samples.node("x1000c0s0b0n1")
        script.on("GET /v1/nodes", items(on, second_node), items(off, second_node))

    @pytest.mark.usefixtures("changing")
    def test_the_list_then_the_rows_that_change(self, canton: Run, script: Script) -> None:
        result = canton("node", "list", "--watch", "-c", "xname,power")
        assert result.status == 4
        assert result.out.splitlines() == [
            "XNAME          POWER",
            "x1000c0s0b0n0  on",
            "x1000c0s0b0n1  on",
            "x1000c0s0b0n0  off",
        ]
        assert script.lines()[:2] == ["GET /v1/events", "GET /v1/nodes"]

    @pytest.mark.usefixtures("changing")
    def test_names_from_standard_input_are_read_once(self, canton: Run, script: Script) -> None:
        result = canton("node", "list", "-", "--watch", "-q", stdin="x1000c0s0b0n[0-1]\n")
        assert (result.status, result.out.splitlines()[-1]) == (4, "x1000c0s0b0n0")
        queries = [request.query for request in script.requests if request.line == "GET /v1/nodes"]
        assert [query.get("nodeset") for query in queries] == ["x1000c0s0b0n[0-1]"] * 2

    @pytest.mark.usefixtures("changing")
    def test_objects_that_change_are_lines_of_json(self, canton: Run) -> None:
        lines = [json.loads(line) for line in canton("node", "list", "--watch", "-o", "json").out.splitlines()]
        assert [(it["xname"], it["power"]) for it in lines] == [
            ("x1000c0s0b0n0", "on"),
            ("x1000c0s0b0n1", "on"),
            ("x1000c0s0b0n0", "off"),
        ]

    @pytest.mark.parametrize(
        ("command", "kind", "looks"),
        [
            *((("node", "list"), kind, 2) for kind in ("node.imported", "step.changed", "operation.done")),
            *((("node", "list"), kind, 1) for kind in ("tenant.created", "site.created", "nodes.x")),
            *((("operation", "list"), kind, 2) for kind in ("operation.queued", "step.changed")),
            *((("operation", "list"), kind, 1) for kind in ("node.imported", "tenant.created")),
            *((("tenant", "list"), kind, 2) for kind in ("tenant.suspended", "node.imported")),
            *((("tenant", "list"), kind, 1) for kind in ("step.changed", "operation.done")),
        ],
    )
    def test_a_list_is_made_anew_for_events_about_it_and_for_no_others(
        self, canton: Run, script: Script, command: tuple[str, str], kind: str, looks: int
    ) -> None:
        text = f"id: 1\nevent: e\ndata: {json.dumps(samples.event(kind))}\n\n"
        live = Reply(raw=text.encode(), headers={"Content-Type": "text/event-stream"}, cut=True)
        script.on("GET /v1/events", live, problem(401, "token-invalid", "enough"))
        script.on("GET /v1/operations", items(samples.operation()))
        script.on("GET /v1/tenants", items(samples.tenant()))
        assert canton(*command, "--watch").status == 4
        assert script.lines().count(f"GET /v1/{command[0]}s") == looks

    def test_json_lines(self, canton: Run) -> None:
        out = canton("event", "follow", "-o", "json").out
        assert [json.loads(line)["kind"] for line in out.splitlines()] == [
            "tenant.created",
            "node.changed",
            "step.changed",
        ]

    def test_for_people(self, canton: Run) -> None:
        first = canton("event", "follow").out.splitlines()[0]
        assert first == f"{samples.AT[:19]}Z  tenant.created  psi  psi  a=1"

    def test_what_is_empty_in_an_event_is_left_out(self, canton: Run, script: Script) -> None:
        bodies = ({"description": "", "reason": None, "nodes": 0}, {"reason": None})
        script.on("GET /v1/events", items(*(samples.event(body=body) for body in bodies)))
        result = canton("event", "list", "-c", "body", "--no-headers")
        assert result.out == "nodes=0\n-\n"


class TestNodesThatAreNotThere:
    """A named node that does not exist is an error; the others are shown all the same."""

    def test_none_of_them(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/nodes", items())
        result = canton("node", "list", "x1000c0s0b0n[8-9]")
        assert (result.status, result.out) == (3, "")
        assert "no such node, or you may not see it: x1000c0s0b0n[8-9]" in result.err

    def test_some_of_them(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/nodes", items(samples.node(nid=12)))
        result = canton("node", "list", "-q", "nid000012", "nid000013", "x1000c0s0b0n[0-1]")
        assert (result.status, result.out) == (3, "x1000c0s0b0n0\n")
        assert "you may not see it: nid000013,x1000c0s0b0n1;" in result.err

    def test_some_of_those_that_standard_input_names(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/nodes", items(samples.node()))
        result = canton("node", "list", "-q", "-", stdin="x1000c0s0b0n0\nx1000c0s0b0n1\n")
        assert (result.status, result.out) == (3, "x1000c0s0b0n0\n")
        assert "you may not see it: x1000c0s0b0n1;" in result.err

    def test_all_are_there(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/nodes", items(samples.node(nid=12)))
        assert canton("node", "list", "-q", "nid12").status == 0
        assert canton("node", "list", "-q", "x1000c0s0b0n0").status == 0

    def test_a_selector_may_match_none(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/nodes", items())
        assert canton("node", "list", "x1000c0s0b0n0", "--selector", "power=on").status == 0

    def test_show_by_a_number_that_no_node_has(self, canton: Run, script: Script) -> None:
        script.on("GET /v1/nodes", items())
        result = canton("node", "show", "nid000099")
        assert result.status == 3
        assert "nid000099" in result.err
