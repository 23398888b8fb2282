"""The stage of the demo: a folder with everything in it, a server, workers, and three people who have logged in."""

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
from pathlib import Path
from typing import IO

from demo import browser

CANTON = Path(sys.executable).with_name("canton")
# Context, and the roles that the issuer vouches for.
PEOPLE = {
    "rosa": ["canton-provider-admin"],
    "ann": ["canton-tenant-operator:psi"],
    "eve": [],
}
NODES = """\
xname,nid,power,state,tenant
x1000c0s0b0n0,1000,off,assigned,psi
x1000c0s0b0n1,1001,off,assigned,psi
x1000c0s1b0n0,1002,off,assigned,psi
x1000c0s1b0n1,1003,off,assigned,psi
x1000c0s2b0n0,1004,off,assigned,psi
x1000c0s2b0n1,1005,off,assigned,psi
x1000c0s3b0n0,1006,on,assigned,cscs
x1000c0s3b0n1,1007,on,assigned,cscs
x1000c0s4b0n0,1008,off,free,
x1000c0s4b0n1,1009,off,free,
"""


class Stage:
    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.power = folder / "power"
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
        self.power.mkdir(parents=True)
        for line in NODES.splitlines()[1:]:
            xname, _, power, *_ = line.split(",")
            (self.power / xname).write_text(power)
        (self.folder / "nodes.csv").write_text(NODES)
        (self.folder / "users.toml").write_text(
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
[sites.alps]
power = "demo"
folder = "{self.power}"
latency = 0.4
"""
        )
        names = ("PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "CANTON_CONFIG")
        lines = [f"export {name}={shlex.quote(self.environment[name])}" for name in names]
        (self.folder / "env").write_text("\n".join([*lines, ""]))

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
            shown = ""
            for line in _output(login):
                shown += line
                page, code = re.search(r"https?://\S+/device\b", shown), re.search(r"\b[A-Z]{4}-[A-Z]{4}\b", shown)
                if page and code:
                    browser.allow(page[0], code[0], who, who)
                    break
            rest = _output(login).read()
        if login.returncode:
            raise SystemExit(f"{who} could not log in: {shown}{rest}")

    def switched_on(self, prefix: str = "x1000c0s[0-2]") -> int:
        return sum(node.read_text() == "on" for node in self.power.glob(f"{prefix}*"))

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
