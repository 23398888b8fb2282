"""The stage of the demo: a pretend machine, a server, workers, and three people who have logged in, in one folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from csm_emulator.process import Emulator, emulate
from demo import browser
from demo.inventory import new_nodes_csv, nodes_csv

CANTON = Path(sys.executable).with_name("canton")
# Context, and the roles that the issuer vouches for.
PEOPLE = {
    "rosa": ["canton-provider-admin"],
    "ann": ["canton-tenant-operator:psi"],
    "eve": [],
}
# A boot takes half a minute, and an order for power is still being carried out when a worker is killed.
SPEED = "10"


class Stage:
    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.machine: Emulator | None = None
        self._exits = ExitStack()
        self.server: subprocess.Popen[str] | None = None
        self.workers: list[subprocess.Popen[str]] = []
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("CANTON_", "XDG_"))}
        self.environment = clean | {
            "PATH": f"{CANTON.parent}{os.pathsep}{os.environ['PATH']}",
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "CANTON_CONFIG": str(folder / "server.toml"),
        }

    def build(self) -> None:
        self.folder.mkdir(parents=True)
        machine = self.start_machine()
        secret = self.folder / "admin-client.secret"
        secret.touch(mode=0o600)
        secret.write_text(machine.clients["admin-client"])
        (self.folder / "nodes.csv").write_text(nodes_csv(machine))
        (self.folder / "new.csv").write_text(new_nodes_csv(machine))
        users = self.folder / "users.toml"
        # Holds passwords in the clear, so the mode is set before anything is written.
        users.touch(mode=0o600)
        users.write_text(
            "\n".join(
                f'[users.{who}]\npassword = "{who}"\nroles = {json.dumps(roles)}' for who, roles in PEOPLE.items()
            )
        )
        (self.folder / "server.toml").write_text(
            f"""\
database = "sqlite:///{self.folder / "canton.db"}"
[api]
listen = "127.0.0.1:{self.port}"
[worker]
lease = 2
[log]
level = "warning"
[embedded_issuer]
enabled = true
state = "{self.folder / "issuer"}"
users = "{self.folder / "users.toml"}"
{self._site("alps", machine, secret)}
{self._site("annex", machine, secret)}
"""
        )
        self._write_csm(machine, secret)
        self.environment["CSM_EMULATOR"] = machine.control
        names = ("CSM_EMULATOR", "PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "CANTON_CONFIG")
        lines = [f"export {name}={shlex.quote(self.environment[name])}" for name in names]
        (self.folder / "env").write_text("\n".join([*lines, ""]))

    def _site(self, name: str, machine: Emulator, secret: Path) -> str:
        """A site of the configuration. Both are the one machine: each page about the demo has a site of its own."""
        return f"""\
[sites.{name}]
power = "csm"
url = "{machine.url}"
ca = "{machine.ca}"
secret_file = "{secret}"
"""

    def _write_csm(self, machine: Emulator, secret: Path) -> None:
        """``./csm PUT /apis/… '{…}'``, for those who have no curl."""
        script = self.folder / "csm"
        machine_facts = {"url": machine.url, "ca": machine.ca, "secret": str(secret)}
        script.write_text(
            f"#!{sys.executable}\nKNOWN = {machine_facts!r}\n{Path(__file__).with_name('csm.py').read_text()}"
        )
        script.chmod(0o700)

    def start_machine(self) -> Emulator:
        """The machine of the paper, with PSI's nodes beside others."""
        state_file = str(self.folder / "machine.state")
        self.machine = self._exits.enter_context(emulate("psi", "--speed", SPEED, "--state", state_file))
        return self.machine

    def start(self) -> str:
        """Start the server; answers its address."""
        self.run("canton db upgrade")
        self.server = self._start("serve", "--json", stdout=subprocess.PIPE)
        ready = _output(self.server).readline()
        if not ready:
            raise SystemExit(f"the server did not start; see {self.folder / 'serve.log'}")
        return str(json.loads(ready)["url"])

    def start_worker(self) -> subprocess.Popen[str]:
        worker = self._start("worker")
        self.workers.append(worker)
        return worker

    def _start(self, command: str, *options: str, stdout: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        with (self.folder / f"{command}.log").open("a") as log:
            return subprocess.Popen(
                [CANTON, command, *options], env=self.environment, stdout=stdout, stderr=log, text=True
            )

    def run(self, command: str) -> subprocess.CompletedProcess[str]:
        """As typed in a shell."""
        return subprocess.run(
            ["/bin/sh", "-c", command],
            env=self.environment,
            cwd=self.folder,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=60,
            check=False,
        )

    def log_in(self, who: str, url: str) -> None:
        """By device code, as over ssh; a browser somewhere else allows it."""
        command: list[str | Path] = [CANTON, "login", "--context", who, "--server", url]
        with subprocess.Popen(
            command, env=self.environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as login:
            output = ""
            for line in _output(login):
                output += line
                page, code = re.search(r"https?://\S+/device\b", output), re.search(r"\b[A-Z]{4}-[A-Z]{4}\b", output)
                if page and code:
                    browser.allow(page[0], code[0], who, who)
                    break
            remaining_output = _output(login).read()
        if login.returncode:
            raise SystemExit(f"{who} could not log in: {output}{remaining_output}")

    def switched_on(self, nodes: list[str]) -> int:
        """How many of them really have power, whatever anybody was told."""
        if self.machine is None:
            return 0
        return sum(self.machine.part(node)["power"] == "on" for node in nodes)

    def stop(self) -> None:
        processes = [*self.workers, *([self.server] if self.server else [])]
        for process in processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
            if process.stdout is not None:
                process.stdout.close()
        self._exits.close()


def _output(process: subprocess.Popen[str]) -> IO[str]:
    if process.stdout is None:
        raise SystemExit("a process was started without its output")
    return process.stdout


def wait(condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"the story did not hold: {what} did not happen in {seconds:.0f} s")
        time.sleep(0.05)
