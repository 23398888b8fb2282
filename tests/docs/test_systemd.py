"""The path to production without stand-ins: `.ci/systemd` boots a machine with systemd, sudo and accounts.

What the stand-ins of `test_production.py` cannot show: whether accounts may do what the pages have them do, and whether
the units run with all that they give up. Keycloak is another machine's, as at a site; its commands run where it is.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import keycloak_realm
from docs.examples import ROOT, Example, examples, play, section, substitute
from docs.test_production import IDENTITY, INSTALL_PAGE, KCADM, RESTORE, people, realm
from identity.issuers import KEYCLOAK, Keycloak

SYSTEMD = "CANTON_TEST_SYSTEMD"
TOOL = str(ROOT / ".ci" / "systemd")
KEYCLOAK_STEP = "5. Keycloak"
pytestmark = pytest.mark.skipif(
    not all(os.environ.get(name) for name in (SYSTEMD, KEYCLOAK, KCADM)),
    reason=f"LEFT OUT: the path to production on a real systemd (set {SYSTEMD}=1, {KEYCLOAK}, {KCADM}; .ci/run does)",
)
# The checks of the machine before a site relies on it.
AFTER_A_REBOOT = """
```
$ systemctl is-active canton-api canton-worker
active
active
$ until curl --silent --fail --output /dev/null https://canton.example.org:8700/readyz; do sleep 1; done
$ canton operation follow "$(cat operation)"
…done…
$ sudo cat /var/lib/canton/alps/x1000c0s0b0n0
on
$ sudo systemctl kill --signal KILL canton-worker
$ canton node power off @psi --reason 'a worker was killed' --wait
…done…
$ sudo journalctl --quiet --priority warning --boot all --unit canton-api
```
"""
# An attacker who takes over the worker can write nowhere else, see no other process, and gain no privilege.
TAKEN_OVER = """
```
$ unit=/etc/systemd/system/canton-worker.service
$ sed -e 's|^Type=.*|Type=oneshot|' -e '/^Restart/d' -e 's|^ExecStart=.*|ExecStart=/bin/sh /srv/probe|' $unit > probe
$ sudo install -m 0644 probe /etc/systemd/system/probe.service
$ sudo systemctl daemon-reload
$ sudo systemctl start probe
$ sudo journalctl --quiet --output cat --unit probe --identifier sh
can write: /var/lib/canton /tmp
```
"""
PROBE = """\
#!/bin/sh
can=
for folder in /etc/canton /opt/canton /var/lib/canton /var/backups/canton /srv /home/admin /run /tmp; do
    if touch "$folder/probe" 2>/dev/null; then can="$can $folder"; fi
done
echo "can write:$can"
if cat /proc/1/comm 2>/dev/null; then echo 'sees others'; fi
if ! grep -q 'NoNewPrivs:.1' /proc/self/status; then echo 'may gain privileges'; fi
if unshare --user true 2>/dev/null; then echo 'makes namespaces'; fi
"""


@dataclass(frozen=True)
class Machine:
    folder: Path
    realm: str

    @property
    def root(self) -> Path:
        return self.folder / "root"

    @property
    def home(self) -> Path:
        return self.root / "home" / "admin"

    def placed(self, text: str) -> list[Example]:
        """The text with this machine's names in place of the page's."""
        issuer = {"https://login.example.org": os.environ[KEYCLOAK], "-r hpc": f"-r {self.realm}"}
        return examples(substitute(text, issuer | {"realms/hpc": f"realms/{self.realm}"}))

    def play(self, *texts: str) -> None:
        """Run the examples as admin on the machine."""
        keycloak = Keycloak(os.environ[KEYCLOAK], self.realm)
        parts = [part for text in texts for part in self.placed(text)]
        play(parts, self.home, os.environ, people(keycloak), runner=(TOOL, "run", str(self.folder), "/bin/sh"))

    def play_beside(self, text: str, folder: Path) -> None:
        """Run the examples on this machine, where Keycloak runs."""
        (folder / "kcadm.sh").write_text(f'#!/bin/sh\nexec {os.environ[KCADM]} "$@"\n')
        (folder / "kcadm.sh").chmod(0o755)
        own = {"HOME": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}
        parts = self.placed(text.replace("/opt/canton", f"{self.root}/opt/canton"))
        play(parts, folder, os.environ | own | {"KC_CLI_PASSWORD": keycloak_realm.ADMIN["password"]})

    def reboot(self) -> None:
        command = [TOOL, "run", str(self.folder), "sudo systemctl reboot; sleep infinity"]
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0, "it survived the reboot"

    def provide(self) -> None:
        """The two files that the page begins with, and the packages that PyPI has: the machine has no way there."""
        build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(self.home)]
        subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
        lock = ROOT / "requirements" / "run.txt"
        shutil.copy(lock, self.home / "canton-requirements.txt")
        wheels = self.root / "srv" / "wheels"
        fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes", "--requirement", str(lock)]
        # For the machine's Python, which is Debian's.
        fetch += ["--only-binary=:all:", "--python-version", "3.11", "--dest", str(wheels)]
        subprocess.run(fetch, check=True, capture_output=True)
        (self.root / "etc" / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /srv/wheels\n")
        (self.root / "srv" / "probe").write_text(PROBE)


@pytest.fixture
def machine() -> Iterator[Machine]:
    memory = Path("/dev/shm")  # noqa: S108 (a name of its own, made by root)
    folder = (memory if memory.is_dir() else Path("/tmp")) / f"canton-machine-{secrets.token_hex(4)}"  # noqa: S108
    with realm() as name:
        subprocess.run([TOOL, "start", str(folder), os.environ[KEYCLOAK]], check=True)
        try:
            yield Machine(folder, name)
        finally:
            subprocess.run([TOOL, "stop", str(folder)], check=True)


@pytest.mark.slow(65)
def test_the_pages_lead_to_a_server_that_survives_a_loss_and_a_reboot(machine: Machine, tmp_path: Path) -> None:
    """Plays "install.md", "identity.md" and "restore.md"."""
    machine.provide()
    install_steps, step, later_steps = INSTALL_PAGE.read_text().partition(section(INSTALL_PAGE, KEYCLOAK_STEP))
    assert "(identity.md#keycloak)" in step
    machine.play(install_steps)
    machine.play_beside(section(IDENTITY, "Keycloak"), tmp_path)
    machine.play(later_steps, section(IDENTITY, "The first administrator"), section(RESTORE, "PostgreSQL"))
    machine.play(
        "```\n$ sudo systemctl stop canton-worker\n"
        "$ canton node power on @psi --reason 'before a reboot' --no-wait -q > operation\n```\n"
    )
    machine.reboot()
    machine.play(AFTER_A_REBOOT, TAKEN_OVER)
