"""On a terminal: questions, progress, Ctrl-C. The installed command, behind a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from client import samples
from client.scripted_server import RecordedRequest, Reply, Script, items

CANTON = str(Path(sys.executable).with_name("canton"))


class Terminal:
    """A command on a pseudo-terminal of its own."""

    def __init__(self, arguments: tuple[str, ...], environment: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        env = {"TERM": "xterm", **os.environ, **environment}
        self.process = subprocess.Popen(
            [CANTON, *arguments], stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True
        )
        os.close(slave)
        self.shown = ""

    def until(self, text: str, seconds: float = 20) -> None:
        """Read until the text is shown."""
        deadline = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < deadline, f"no {text!r} in {self.shown!r}"
            assert self._read(), f"it ended without {text!r}: {self.shown!r}"

    def type(self, line: str) -> None:
        os.write(self._master, f"{line}\n".encode())

    def interrupt(self) -> None:
        """Press Ctrl-C, repeatedly until it has an effect: a signal just before a read waits for the read to end."""
        for _ in range(10):
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:
                continue
            return

    def end(self) -> int:
        while self._read():
            pass
        return self.process.wait(20)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(20)
        os.close(self._master)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 20)[0]:
            return False
        try:
            content = os.read(self._master, 65536)
        except OSError:  # Linux says EIO when the other end is closed
            return False
        self.shown += content.decode(errors="replace").replace("\r\n", "\n")
        return bool(content)


Open = Callable[..., Terminal]


@pytest.fixture
def terminal(script: Script) -> Iterator[Open]:
    opened: list[Terminal] = []

    def start(*arguments: str, **environment: str) -> Terminal:
        opened.append(Terminal(arguments, environment))
        return opened[-1]

    yield start
    for shell in opened:
        shell.close()


class TestQuestions:
    @pytest.fixture(autouse=True)
    def tenant(self, script: Script) -> None:
        script.on("DELETE /v1/tenants/psi", Reply(204))

    def test_deleting_a_tenant_takes_its_name(self, terminal: Open, script: Script) -> None:
        shell = terminal("tenant", "delete", "psi", "--reason", "left")
        shell.until("Type psi to go on")
        shell.type("psi")
        assert shell.end() == 0
        assert script.lines() == ["DELETE /v1/tenants/psi"]

    def test_ctrl_c_at_a_question_changes_nothing_and_says_so(self, terminal: Open, script: Script) -> None:
        shell = terminal("tenant", "delete", "psi", "--reason", "left")
        shell.until("Type psi to go on: ")
        shell.interrupt()
        assert shell.end() == 130
        assert shell.shown.endswith("\ncanton: nothing was changed\n")
        assert script.lines() == []

    @pytest.mark.parametrize("answer", ["", "y", "yes", "PSI", "cscs"])
    def test_anything_else_changes_nothing(self, terminal: Open, script: Script, answer: str) -> None:
        shell = terminal("tenant", "delete", "psi", "--reason", "left")
        shell.until("Type psi to go on")
        shell.type(answer)
        assert shell.end() == 1
        assert "nothing was changed" in shell.shown
        assert script.requests == []

    def test_a_reason_that_is_missing_is_said_before_anything_is_asked(self, terminal: Open, script: Script) -> None:
        shell = terminal("tenant", "delete", "psi")
        assert shell.end() == 2
        assert shell.shown == "canton: tenant delete needs a reason: add --reason '…'\n"
        assert script.requests == []

    def test_yes_is_not_asked(self, terminal: Open, script: Script) -> None:
        assert terminal("tenant", "delete", "psi", "-y", "--reason", "left").end() == 0
        assert len(script.requests) == 1

    def test_a_question_is_asked_again_until_it_is_answered(self, terminal: Open, script: Script) -> None:
        script.on("GET /v1/bindings/bd_1", Reply(body=samples.binding()))
        script.on("DELETE /v1/bindings/bd_1", Reply(204))
        shell = terminal("member", "remove", "bd_1", "--reason", "left")
        shell.until("Remove: cscs:alice as tenant-admin in psi? [y/N]: ")
        shell.type("perhaps")
        shell.until("canton: answer y or n\n")
        shell.type("y")
        assert shell.end() == 0
        assert "Error" not in shell.shown

    @pytest.mark.parametrize(("nodes", "count", "words"), [("x[1-3]", 3, "3 nodes: x[1-3]"), ("x1", 1, "1 node: x1")])
    def test_deleting_nodes_says_how_many(
        self, terminal: Open, script: Script, nodes: str, count: int, words: str
    ) -> None:
        script.on("POST /v1/nodes/delete", Reply(body={"nodes": nodes, "count": count}))
        shell = terminal("node", "delete", nodes, "--reason", "cabinet gone")
        shell.until(f"Delete {words}? [y/N]: ")
        shell.type("y")
        assert shell.end() == 0
        assert [request.query for request in script.requests] == [{"dry_run": "true"}, {}]

    @pytest.mark.parametrize("verb", ["undo", "abandon"])
    def test_giving_up_an_operation_says_how_far_it_came(self, terminal: Open, script: Script, verb: str) -> None:
        script.on("GET /v1/operations/op_1", Reply(body=samples.operation("needs_attention", steps_done=1)))
        shell = terminal("operation", verb, "op_1", "--reason", "gone")
        shell.until(f"{verb.capitalize()} op_1 (")
        shell.until("; it is needs_attention, 1 of 2 steps are done)? [y/N]: ")
        shell.type("n")
        assert shell.end() == 1
        assert script.lines() == ["GET /v1/operations/op_1"]

    def test_who_approves_is_asked_about_what_the_request_holds(self, terminal: Open, script: Script) -> None:
        """The author wrote the reason: it may mention a viewer where the body makes an administrator."""
        body = {"subject": "cscs:eve", "role": "provider-admin", "tenant": None}
        query = {"permission": "member.grant", "method": "POST", "path": "/v1/bindings", "reason": "a viewer"}
        script.on("GET /v1/approvals/ap_1", Reply(body=samples.approval(**query, body=body)))
        shell = terminal("approval", "approve", "ap_1")
        shell.until('"role": "provider-admin", "tenant": null} (a viewer). Approve? [y/N]: ')
        shell.type("n")
        assert shell.end() == 1

    def test_a_long_request_is_cut_and_says_where_all_of_it_is(self, terminal: Open, script: Script) -> None:
        body = {"nodes": "x1000c0s0b0n0," * 500, "tenant": "psi"}
        script.on("GET /v1/approvals/ap_1", Reply(body=samples.approval(body=body)))
        shell = terminal("approval", "approve", "ap_1")
        shell.until("…\nAll of it: canton approval show ap_1 -o json\n (contract ended). Approve? [y/N]: ")
        shell.type("n")
        assert shell.end() == 1

    def test_ctrl_c_at_a_question_changes_nothing(self, terminal: Open, script: Script) -> None:
        shell = terminal("tenant", "delete", "psi", "--reason", "left")
        shell.until("Type psi to go on")
        shell.interrupt()
        assert shell.end() == 130
        assert script.requests == []

    def test_apply_shows_then_asks(self, terminal: Open, script: Script, tmp_path: Path) -> None:
        (tmp_path / "f").write_text("tenants: [{name: new}]")
        script.on("GET /v1/can-i", Reply(body=samples.decision(permission="tenant.create", tenant=None)))
        script.on("POST /v1/tenants", Reply(201, samples.tenant("new")))
        shell = terminal("apply", "-f", str(tmp_path / "f"))
        shell.until("+ tenant new\n")
        shell.until("Make 1 change on")
        shell.type("y")
        assert shell.end() == 0
        assert script.last.line == "POST /v1/tenants"


class TestWork:
    @pytest.fixture
    def gate(self, script: Script) -> threading.Event:
        """An operation that is done once the gate is open."""
        opened = threading.Event()

        def state(_request: RecordedRequest) -> Reply:
            return Reply(body=samples.operation("done", 2) if opened.is_set() else samples.operation("running", 1))

        def start(request: RecordedRequest) -> Reply:
            return Reply(body=samples.plan()) if request.query else Reply(202, samples.operation())

        script.on("POST /v1/nodes/power", start)
        script.on("GET /v1/operations/op_1", state)
        script.on("GET /v1/operations/op_1/steps", items(*(samples.step(n, f"x1000c0s0b0n{n}") for n in range(2))))
        return opened

    def test_is_followed_with_progress(self, terminal: Open, gate: threading.Event) -> None:
        shell = terminal("node", "power", "on", "x1000c0s0b0n[0-1]")
        shell.until("op_1 running: 1/2 done")
        gate.set()
        assert shell.end() == 0
        assert shell.shown.endswith("x1000c0s0b0n[0-1]: done\n")

    @pytest.mark.usefixtures("gate")
    def test_ctrl_c_lets_go_and_never_cancels(self, terminal: Open, script: Script) -> None:
        shell = terminal("node", "power", "on", "x1000c0s0b0n[0-1]")
        shell.until("running")
        shell.interrupt()
        assert shell.end() == 130
        assert "op_1 goes on. Follow it again with: canton operation follow op_1" in shell.shown
        assert [line for line in script.lines() if line.startswith("POST")] == ["POST /v1/nodes/power"]

    @pytest.mark.usefixtures("gate")
    @pytest.mark.parametrize("arguments", [("wait", "op_1"), ("follow", "op_1", "-o", "json")])
    def test_ctrl_c_lets_go_however_it_is_followed(
        self, terminal: Open, script: Script, arguments: tuple[str, ...]
    ) -> None:
        shell = terminal("operation", *arguments)
        deadline = time.monotonic() + 20
        while len(script.requests) < 2 and time.monotonic() < deadline:
            time.sleep(0.02)
        shell.interrupt()
        assert shell.end() == 130
        assert "Follow it again with: canton operation follow op_1" in shell.shown

    def test_switching_off_shows_the_plan_and_takes_the_tenant_s_name(
        self, terminal: Open, script: Script, gate: threading.Event
    ) -> None:
        gate.set()
        shell = terminal("node", "power", "off", "x1000c0s0b0n[0-1]")
        shell.until("Power off 2 nodes (x1000c0s0b0n[0-1]) of psi?\nType psi to go on")
        shell.type("psi")
        assert shell.end() == 0
        submitted = [request for request in script.requests if request.line == "POST /v1/nodes/power"]
        assert [request.query for request in submitted] == [{"dry_run": "true"}, {}]
        assert submitted[1].body["plan"] == "sha256:aa", "what was agreed to is what is done"

    @pytest.mark.usefixtures("gate")
    def test_no_wait_returns_at_once(self, terminal: Open, script: Script) -> None:
        assert terminal("node", "power", "on", "x1", "--no-wait").end() == 0
        assert script.lines() == ["POST /v1/nodes/power"]

    @pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"NO_COLOR": "1"}])
    def test_a_dumb_terminal_gets_plain_lines(
        self, terminal: Open, gate: threading.Event, environment: dict[str, str]
    ) -> None:
        gate.set()
        shell = terminal("node", "power", "on", "x1000c0s0b0n[0-1]", **environment)
        assert shell.end() == 0
        assert "\x1b" not in shell.shown
        assert "op_1 done: 2/2 done" in shell.shown


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_a_table_is_coloured_on_a_terminal(
    terminal: Open, script: Script, environment: dict[str, str], coloured: bool
) -> None:
    script.on("GET /v1/tenants", items(samples.tenant()))
    shell = terminal("tenant", "list", **environment)
    assert shell.end() == 0
    assert ("\x1b[32mactive" in shell.shown) is coloured


@pytest.mark.parametrize("columns", [60, 140])
def test_a_table_is_as_wide_as_the_terminal(terminal: Open, script: Script, columns: int) -> None:
    script.on("GET /v1/tenants", items(samples.tenant(description="x" * 200)))
    shell = terminal("tenant", "list", NO_COLOR="1", COLUMNS=str(columns))
    assert shell.end() == 0
    assert max(map(len, shell.shown.splitlines())) == columns


def test_following_events_says_that_it_waits(terminal: Open, script: Script) -> None:
    script.on("GET /v1/events", Reply(raw=b"id: 1\n\n", headers={"Content-Type": "text/event-stream"}, cut=True))
    shell = terminal("event", "follow")
    shell.until("canton: waiting for events; Ctrl-C ends\n")
    shell.interrupt()
    assert shell.end() == 130


def test_watching_ends_with_ctrl_c(terminal: Open, script: Script) -> None:
    script.on("GET /v1/events", Reply(raw=b"id: 1\n\n", headers={"Content-Type": "text/event-stream"}, cut=True))
    script.on("GET /v1/tenants", items(samples.tenant()))
    shell = terminal("tenant", "list", "--watch")
    shell.until("psi")
    shell.interrupt()
    assert shell.end() == 130
    assert "Traceback" not in shell.shown


def test_ctrl_c_during_start_leaves_no_traceback(tmp_path: Path) -> None:
    """A module that is imported early interrupts the process, as Ctrl-C at that moment would."""
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    command = [sys.executable, "-m", "canton", "node", "list"]
    result = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60, check=False
    )
    assert (result.returncode, result.stdout, result.stderr) == (-signal.SIGINT, "", "")


def test_a_reader_that_goes_away_is_no_error(script: Script) -> None:
    script.on("GET /v1/tenants", items(*(samples.tenant(f"t{n}", description="x" * 200) for n in range(2000))))
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    command = [CANTON, "tenant", "list", "-o", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
