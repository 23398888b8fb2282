"""`make demo`: a pretend supercomputer, two tenants, three people, a worker that is killed half-way, and a broken wire.

Every command is shown as typed, and what it prints is checked: a line that does not hold ends the story with a status
that is not 0. With ONCE=1 it ends there; otherwise server and worker stay up to be tried. With EMPTY=1 there is no
story: the people are logged in, and the server has nothing yet, as the how-to pages begin.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from canton.domain.nodeset.nodeset import expand
from demo.boot import Boot
from demo.stage import PEOPLE, Stage, wait

PORT = 8700
# Nodes of PSI's that are off when the machine starts.
PSI = "x1000c2s7b[0-1]n[0-1],x1000c3s0b[0-1]n[0-1]"
# One that is up.
BUSY = "x1000c0s0b0n0"


class Story:
    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def tell(self, url: str) -> None:
        self.log_in(url)
        self.set_up()
        self.who_may_what()
        self.kill_half_way()
        self.lose_an_answer()
        self.look_back()
        Boot(self).tell()

    def log_in(self, url: str) -> None:
        self.say("Three people log in by device code, each into a context of their own.")
        for who, roles in PEOPLE.items():
            self.stage.log_in(who, url)
            print(f"    {who}: {', '.join(roles) or 'no role at all'}")

    def set_up(self) -> None:
        self.say("Beside the server runs a pretend HPE Cray EX, with the services of CSM on their real paths.")
        self.play("csm-emulator status", expect="psi")
        self.say("Rosa runs the centre. She adds two tenants and imports nodes, as HSM knows them.")
        self.play("canton site create alps --context rosa")
        self.play("canton tenant create psi --description 'Paul Scherrer Institute' --context rosa")
        self.play("canton tenant create cscs --description 'Centre for Supercomputing' --context rosa")
        self.play("canton node import nodes.csv --site alps --reason 'as HSM has them' --context rosa", expect="added")
        self.play("canton tenant list --context rosa", expect="cscs.*psi")
        self.play("canton node list --context rosa", expect="cscs")

    def who_may_what(self) -> None:
        self.say("Ann works for PSI. Who does Canton take her for, and what may she do?")
        self.play("canton whoami --context ann", expect="tenant-operator")
        self.play("canton can-i node power --tenant psi --context ann", expect="yes")
        self.play("canton can-i tenant delete --tenant psi --context ann", expect="no", status=4)
        self.say("She sees her own part of the machine. Another tenant's is, for her, not there.")
        self.play("canton tenant list --context ann", expect="psi", never="cscs")
        self.play("canton node list --context ann", expect="psi", never="cscs")
        self.play("canton tenant show cscs --context ann", expect="no tenant", status=3)
        self.say("Eve has an account and no role. Zero roles see nothing.")
        self.play("canton tenant list --context eve", never="psi")
        self.play(f"canton node power off '{PSI}' --reason 'for fun' --yes --context eve", status=4)

    def kill_half_way(self) -> None:
        self.say("Ann plans to switch her nodes on. The server says what it would do, and nothing happens yet.")
        planned = self.play(f"canton node power on '{PSI}' --dry-run --context ann", expect="sha256:")
        digest = self.find(r"sha256:[0-9a-f]{64}", planned)
        self.say("She runs exactly that plan. A worker takes it, and we kill it with -9 half-way.")
        worker = self.stage.start_worker()
        started = self.play(
            f"canton node power on '{PSI}' --plan {digest} --reason 'beam time' --no-wait --context ann"
        )
        operation = self.find(r"op_[0-9a-f]+", started)
        nodes = expand(PSI)
        wait(lambda: self.stage.switched_on(nodes) >= 1, "a node switched on")
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        on = self.stage.switched_on(nodes)
        print(f"\n    kill -9 {worker.pid}: {on} of {len(nodes)} nodes are on, and Canton knows of none")
        self.expect(on < len(nodes), "the worker was killed half-way")
        self.say("Another worker waits for the lease to run out, looks at the machine, and goes on.")
        self.stage.start_worker()
        self.play(f"canton operation follow {operation} --context ann", expect="done")
        self.expect(self.stage.switched_on(nodes) == len(nodes), "all nodes are on")

    def lose_an_answer(self) -> None:
        self.say("Somebody breaks the wire: PCS will carry out the next order, and its answer will be lost.")
        self.play("csm-emulator fault set lost-response pcs method=POST path=/transitions --next 1", expect="1 more")
        self.say("Ann switches one node off. Canton does not know what became of the order, looks, and does not guess.")
        self.play(f"canton node power off {BUSY} --reason 'beam time over' --yes --wait --context ann", expect="done")
        self.play("csm-emulator fault list", expect="no faults")
        self.say("What really happened, from the machine itself: one order, one node.")
        log = self.play(f"csm-emulator log | grep {BUSY}", expect="GracefulShutdown|ForceOff|Off")
        self.expect(len(re.findall("power-off ", log)) == 1, "the node was switched off once")

    def look_back(self) -> None:
        self.say("What happened is on record, who did it and why, and the chain of records is whole.")
        self.play("canton audit list --limit 6 --context rosa", expect="beam time")
        self.play("canton audit verify", expect="intact")

    def say(self, text: str) -> None:
        print(f"\n# {text}", flush=True)

    def play(self, command: str, *, expect: str = "", never: str | None = None, status: int = 0) -> str:
        print(f"\n$ {command}", flush=True)
        ran = self.stage.run(command)
        print("".join(f"  {line}\n" for line in ran.stdout.splitlines()), end="", flush=True)
        self.expect(ran.returncode == status, f"the command ended with {ran.returncode}, not {status}")
        self.find(f"(?s){expect}", ran.stdout)
        self.expect(never is None or never not in ran.stdout, f'it does not say "{never}"')
        return ran.stdout

    def find(self, pattern: str, text: str) -> str:
        found = re.search(pattern, text)
        if found is None:
            raise SystemExit(f'the story did not hold: it says "{pattern}"')
        return found[0]

    def expect(self, held: bool, what: str) -> None:
        if not held:
            raise SystemExit(f"the story did not hold: {what}")


def free_port() -> int:
    """The usual one, or any if somebody has it."""
    for port in (PORT, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise SystemExit("no port is free on 127.0.0.1")


def invite(folder: Path, url: str) -> None:
    """What to try on a server that has the story behind it."""
    print(f"""
# The server stays up at {url} with a worker, beside the pretend machine. From a second shell:

    . {os.path.relpath(folder / "env")}
    canton tenant list --context rosa            # also: --context ann, --context eve
    canton can-i tenant delete --tenant psi --context ann
    canton node power off '{PSI}' --reason 'good night' --context ann
    canton event follow --context rosa           # in a third shell
    csm-emulator status                        # also: fault kinds, log, clock speed 100
    csm-emulator console {BUSY} -f    # also: pods, pod-log, probe
    canton --help

Ctrl-C ends it.""")


def invite_to_pages(folder: Path, url: str) -> None:
    """What to try on a server that is empty."""
    print(f"""
# A server without tenants and nodes is up at {url} with a worker, beside the pretend machine. From a second shell,
# follow docs/howto/tenants.md or docs/howto/nodes.md; both begin with:

    . {os.path.relpath(folder / "env")} && cd {os.path.relpath(folder)}

Ctrl-C ends it.""")


def stay() -> None:
    sys.stdout.flush()
    try:
        while True:
            time.sleep(3600)
    except KeyboardInterrupt:
        print()


@contextmanager
def exclusive(folder: Path) -> Iterator[None]:
    """Hold a lock beside the folder, which ends with this process; refuse if another demo has it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another demo is running in {folder}; use it, or end it with Ctrl-C first") from None
        yield


def main() -> None:
    folder = Path("build/demo").resolve()
    with exclusive(folder):
        run(folder)


def run(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    stage = Stage(folder, free_port())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    began = time.monotonic()
    try:
        stage.build()
        url = stage.start()
        if os.environ.get("EMPTY"):
            Story(stage).log_in(url)
            stage.start_worker()
            invite_to_pages(folder, url)
            stay()
            return
        Story(stage).tell(url)
        print(f"\n# Every line of the story held ({time.monotonic() - began:.0f} s).", flush=True)
        if not os.environ.get("ONCE"):
            invite(folder, url)
            stay()
    finally:
        stage.stop()


if __name__ == "__main__":
    main()
