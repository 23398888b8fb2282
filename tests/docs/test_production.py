"""Every command of the path to production: install.md, the sections of identity.md it names, then the restore drill.

PostgreSQL, Keycloak, `kcadm.sh`, the units' commands and TLS are real. Stand-ins: folders of the system are below a
folder of the test, accounts are the test's own (`sudo`, `useradd`, `chown`), `systemctl` runs what the units say, and
the two addresses of example.org are on this machine.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

import keycloak_realm
from docs.examples import DOCS, ROOT, Example, examples, play, section, substitute
from docs.test_first_hour import INSTALL, LOGIN
from free_ports import first_free_port
from identity.browser import Browser
from identity.issuers import KEYCLOAK, Keycloak

KCADM = "CANTON_TEST_KCADM"
HOWTO = DOCS / "howto"
INSTALL_PAGE, IDENTITY, RESTORE = HOWTO / "install.md", HOWTO / "identity.md", HOWTO / "restore.md"
PEOPLE = ("rosa", "ann")
pytestmark = [
    pytest.mark.skipif(
        not (os.environ.get(KEYCLOAK) and os.environ.get(KCADM)),
        reason=f"LEFT OUT: the path to production (set {KEYCLOAK} and {KCADM}, or run .ci/run)",
    ),
    pytest.mark.skipif(not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")), reason="LEFT OUT: no PostgreSQL"),
    pytest.mark.slow(50),
]
SUDO = """\
#!/bin/sh
if [ "$1" = -u ]; then
    if [ "$2" = postgres ]; then export PGHOST=127.0.0.1 PGPORT={port} PGUSER=postgres; fi
    shift 2
fi
exec "$@"
"""
NOTHING = "#!/bin/sh\n"
# Without the owner, who does not exist here.
INSTALL_COMMAND = """\
#!/bin/sh
for word; do
    shift
    case $word in -o | -g) skip=yes ;; *) [ -n "$skip" ] || set -- "$@" "$word"; skip= ;; esac
done
exec /usr/bin/install "$@"
"""


@dataclass(frozen=True)
class Machine:
    """Folders in place of a system's, the administrator's programs, and addresses."""

    folder: Path
    port: int
    postgresql: int
    realm: str

    def build(self) -> None:
        for name in ("usr/local/bin", "var/lib", "var/backups", "opt", "etc/systemd/system", "bin"):
            (self.folder / name).mkdir(parents=True)
        kcadm = f'#!/bin/sh\nexec {os.environ[KCADM]} "$@"\n'
        systemctl = f"#!{sys.executable}\n{Path(__file__).with_name('systemctl').read_text()}"
        programs = {"sudo": SUDO.format(port=self.postgresql), "useradd": NOTHING, "chown": NOTHING}
        programs |= {"install": INSTALL_COMMAND, "kcadm.sh": kcadm, "systemctl": systemctl}
        for name, text in programs.items():
            (self.folder / "bin" / name).write_text(text)
            (self.folder / "bin" / name).chmod(0o755)
        (self.folder / "bin" / "python3").symlink_to(sys.executable)
        self._make_certificate()

    def _make_certificate(self) -> None:
        crt, key = (self.folder / f"canton.example.org.{suffix}" for suffix in ("crt", "key"))
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=canton"]
        command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(crt)]
        subprocess.run(command, check=True, capture_output=True)
        system_authorities = Path(ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt")
        authorities = [file.read_text() for file in (system_authorities, crt) if file.exists()]
        (self.folder / "authorities.pem").write_text("\n".join(authorities))

    @property
    def environment(self) -> dict[str, str]:
        authorities = str(self.folder / "authorities.pem")
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("CANTON_", "XDG_", "PG"))}
        return clean | {
            "HOME": str(self.folder),
            "PATH": f"{self.folder}/bin:{self.folder}/usr/local/bin:/usr/bin:/bin",
            "MACHINE": str(self.folder),
            "KC_CLI_PASSWORD": keycloak_realm.ADMIN["password"],
            # The system's authorities.
            "SSL_CERT_FILE": authorities,
            "CURL_CA_BUNDLE": authorities,
            # The default path of commands on the server's machine.
            "CANTON_CONFIG": f"{self.folder}/etc/canton/server.toml",
        }

    @property
    def replacements(self) -> dict[str, str]:
        folders = (
            "/etc/canton",
            "/etc/systemd",
            "/opt/canton",
            "/usr/local/bin",
            "/var/lib/canton",
            "/var/backups/canton",
        )
        return {name: f"{self.folder}{name}" for name in folders} | {
            "canton.example.org:8700": f"127.0.0.1:{self.port}",
            "0.0.0.0:8700": f"127.0.0.1:{self.port}",
            "canton@localhost/canton": f"canton@localhost:{self.postgresql}/canton",
            "https://login.example.org": os.environ[KEYCLOAK],
            "-r hpc": f"-r {self.realm}",
            "realms/hpc": f"realms/{self.realm}",
        }

    def placed(self, text: str) -> list[Example]:
        return examples(substitute(text, self.replacements))

    def stop(self) -> None:
        for file in (self.folder / "run").glob("*.pid"):
            with suppress(ProcessLookupError):
                os.kill(int(file.read_text()), signal.SIGKILL)


@contextmanager
def postgresql(folder: Path) -> Iterator[int]:
    """A PostgreSQL server of its own, which requires a password of the role canton; yields its port."""
    tool = str(ROOT / ".ci" / "postgres")
    url = subprocess.run([tool, "start", str(folder)], check=True, capture_output=True, text=True).stdout.strip()
    try:
        rules = folder / "data" / "pg_hba.conf"
        rules.write_text(f"host all canton 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
        with psycopg.connect(url) as connection:
            connection.execute("SELECT pg_reload_conf()")
        yield urlsplit(url).port or 0
    finally:
        subprocess.run([tool, "stop", str(folder)], check=True)


@contextmanager
def realm() -> Iterator[str]:
    """A site's realm with people, without Canton's clients."""
    base, name = os.environ[KEYCLOAK], f"hpc-{secrets.token_hex(4)}"
    people = [keycloak_realm.user(who, f"{who.title()} Example") for who in PEOPLE]
    settings = {"enabled": True, "sslRequired": "none", "oauth2DevicePollingInterval": 1}
    keycloak_realm.call(base, "POST", "/admin/realms", {"realm": name, "users": people, **settings})
    try:
        yield name
    finally:
        keycloak_realm.delete_realm(base, name)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    tmp_path.chmod(0o755)
    data = Path(f"/tmp/canton-docs-{secrets.token_hex(4)}")  # noqa: S108 (PostgreSQL's own account must reach it)
    with realm() as name, postgresql(data) as port:
        new_machine = Machine(tmp_path / "machine", first_free_port(1), port, name)
        try:
            new_machine.build()
            yield new_machine
        finally:
            new_machine.stop()


def people(realm: Keycloak) -> Callable[[str], None]:
    """Log in one person after the other, when the output asks for a login."""
    waiting = list(PEOPLE)
    allowed: set[str] = set()

    def look(output: str) -> None:
        for address, code in LOGIN.findall(output):
            if code not in allowed:
                allowed.add(code)
                browser = Browser()
                answer = realm.press_to_allow(browser, browser.get(address), waiting.pop(0))
                assert answer.status == 200, answer.text[:2000]

    return look


def install(machine: Machine) -> list[Example]:
    """The examples of the page; its section on Keycloak is replaced by that of identity.md."""
    text = INSTALL_PAGE.read_text()
    assert "(identity.md#keycloak)" in section(INSTALL_PAGE, "5. Keycloak")
    text = text.replace(section(INSTALL_PAGE, "5. Keycloak"), section(IDENTITY, "Keycloak"))
    if not os.environ.get(INSTALL):
        text = text.replace(section(INSTALL_PAGE, "2. The programs"), "")
        provide_programs(machine)
    return machine.placed(text)


def provide_programs(machine: Machine) -> None:
    """Put this environment's programs where the page installs them from PyPI."""
    bin_folder, share = machine.folder / "opt/canton/bin", machine.folder / "opt/canton/share/canton"
    bin_folder.mkdir(parents=True)
    for place in (bin_folder, machine.folder / "usr/local/bin"):
        (place / "canton").symlink_to(Path(sys.executable).with_name("canton"))
    shutil.copytree(ROOT / "deploy", share)


def provide_files(machine: Machine) -> None:
    """The two files that the page begins with."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(machine.folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    shutil.copy(ROOT / "requirements" / "run.txt", machine.folder / "canton-requirements.txt")


def mode(path: Path) -> str:
    return f"{path.stat().st_mode & 0o777:o}"


def test_the_pages_lead_to_a_server_that_survives_the_loss_of_its_database(machine: Machine) -> None:
    """Plays "install.md", "identity.md" and "restore.md"."""
    if os.environ.get(INSTALL):
        provide_files(machine)
    parts = [
        *install(machine),
        *machine.placed(section(IDENTITY, "The first administrator")),
        *machine.placed(section(RESTORE, "PostgreSQL")),
    ]
    keycloak = Keycloak(os.environ[KEYCLOAK], machine.realm)
    play(parts, machine.folder, machine.environment, people(keycloak))
    canton = machine.folder / "etc" / "canton"
    assert {name: mode(canton / name) for name in ("pgpass", "tls.key", "server.toml")} == {
        "pgpass": "600",
        "tls.key": "640",
        "server.toml": "640",
    }
    assert mode(machine.folder / "var/backups/canton/drill.dump") == "600"
