"""``canton serve --dev``: from nothing to a node that is switched on, with the commands that it prints."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from canton.admin import dev
from canton.domain.errors import InvalidSetting
from canton.settings.loading import Flags
from demo import browser
from free_ports import first_free_port

CANTON = Path(sys.executable).with_name("canton")


def environment(home: Path) -> dict[str, str]:
    """No variables of the machine. The virtual environment is not active, as in a new terminal."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin"}


class DevServer:
    def __init__(self, home: Path, process: subprocess.Popen[str], url: str) -> None:
        self.home = home
        self.process = process
        self.url = url

    @property
    def text(self) -> str:
        return (self.home / "serve.log").read_text()

    def steps(self) -> list[str]:
        """The commands that the server prints, which are indented."""
        return re.findall(rf"^  ({re.escape(str(CANTON))} .*)$", self.text, re.MULTILINE)

    def run(self, command: str) -> str:
        result = subprocess.run(
            ["/bin/sh", "-c", command],
            env=environment(self.home),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert result.returncode == 0, (command, result.stderr)
        return result.stdout + result.stderr

    def log_in(self, command: str, password: str) -> None:
        with subprocess.Popen(
            ["/bin/sh", "-c", command], env=environment(self.home), stderr=subprocess.PIPE, text=True
        ) as login:
            assert login.stderr is not None
            prompt = "".join(login.stderr.readline() for _ in range(4))
            page, code = re.search(r"https?://\S+/device\b", prompt), re.search(r"\b[A-Z]{4}-[A-Z]{4}\b", prompt)
            assert page, prompt
            assert code, prompt
            browser.allow(page[0], code[0], "admin", password)
            assert "logged in" in login.stderr.read()
        assert login.returncode == 0


@contextmanager
def serving(home: Path, port: int) -> Iterator[DevServer]:
    command = [str(CANTON), "serve", "--dev", "--json", "--listen", f"127.0.0.1:{port}"]
    with (
        (home / "serve.log").open("w") as log,
        subprocess.Popen(command, env=environment(home), stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, (home / "serve.log").read_text()
            yield DevServer(home, process, json.loads(line)["url"])
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            if process.poll() is None:
                process.kill()


def test_from_nothing_to_a_node_that_is_on_and_again(tmp_path: Path) -> None:
    home = tmp_path / "a home with spaces"
    home.mkdir()
    folder = home / ".local/state/canton/dev"
    port = first_free_port(1)
    with serving(home, port) as server:
        password = re.search(r"^  password  (\S+)$", server.text, re.MULTILINE)
        assert password, server.text
        assert "DEVELOPMENT" in server.text
        login, *steps = server.steps()
        assert login == f"{CANTON} login --context dev --server {server.url}"
        assert '{"' not in server.text.partition("  password  ")[2].partition("All of it is in")[0], (
            "a log line between"
        )
        server.log_in(login, password[1])
        outputs = [server.run(step) for step in steps]
        assert "x1000c0s[2-3]b0n[0-1]" in outputs[-2]
        assert {node: (folder / "power" / node).read_text() for node in ("x1000c0s1b0n1", "x1000c0s2b0n0")} == {
            "x1000c0s1b0n1": "on",
            "x1000c0s2b0n0": "off",
        }
    assert [path.name for path in folder.iterdir() if password[1].encode() in _content(path)] == []
    private = [folder, folder / "users.toml", folder / "canton.db", folder / "issuer.db", folder / "server.toml"]
    assert [path.name for path in private if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
    with serving(home, port) as second_server:
        assert "  password  " not in second_server.text
        second_server.log_in(second_server.steps()[0], password[1])
        assert "x1000c0s[2-3]b0n[0-1]" in second_server.run(f"{CANTON} node list")


def test_a_site_that_cannot_be_reached_stops_nothing_at_the_others(tmp_path: Path) -> None:
    flags = dev.prepare(Flags(), {"XDG_STATE_HOME": str(tmp_path / ".local/state")})
    assert flags.config is not None
    secret, ca = tmp_path / "csm.secret", tmp_path / "ca.pem"
    secret.write_text("secret")
    secret.chmod(0o600)
    with flags.config.open("a") as config:
        config.write(
            '[sites.alps]\npower = "csm"\nurl = "https://127.0.0.1:9"\nclient_id = "admin-client"\n'
            f'ca = "{ca}"\nsecret_file = "{secret}"\n'
        )
    with serving(tmp_path, first_free_port(1)) as server:
        password = re.search(r"^  password  (\S+)$", server.text, re.MULTILINE)
        assert password, server.text
        login, *steps = server.steps()
        server.log_in(login, password[1])
        assert "done" in [server.run(step) for step in steps][-1]
        assert "site alps: its power service cannot be set up" in server.text
        assert "the worker ended" not in server.text
        rows = "xname,state,tenant\nx2000c0s0b0n0,assigned,psi\n"
        server.run(
            f"PATH={CANTON.parent}:$PATH; canton site create alps && "
            f"printf '{rows}' | canton node import --site alps --reason test - && "
            "canton node power on x2000c0s0b0n0 --reason test --no-wait"
        )
        # The engine reads the node four times, seconds apart, before the operation needs attention.
        waited = server.run(f"{CANTON} operation wait $({CANTON} operation list -q --node x2000c0s0b0n0) || true")
        assert "the power service of site alps cannot be set up; the provider has to look" in waited
        assert str(ca) not in waited
    checked = subprocess.run(
        [CANTON, "settings", "--check", "--config", flags.config],
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert checked.returncode == 2
    assert str(ca) in checked.stderr


def test_the_password_is_not_lost_where_the_server_does_not_start(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InvalidSetting), dev.shown_once("the password"):
        raise InvalidSetting("an issuer is wrong")
    assert capsys.readouterr().err == "the password\n"
    with dev.shown_once("the password") as show:
        show()
    assert capsys.readouterr().err == "the password\n"


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


@pytest.mark.parametrize(
    ("arguments", "variables", "message"),
    [
        (["--listen", "0.0.0.0:0"], {}, "for this machine only, and api.listen is 0.0.0.0:0"),
        ([], {"CANTON_API_LISTEN": "[::]:0"}, "for this machine only, and api.listen is [::]:0"),
        (["--config", "server.toml"], {}, "--config names another"),
        (["--database", "postgresql://db/canton"], {}, "--database names another"),
        ([], {"CANTON_CONFIG": "server.toml"}, "CANTON_CONFIG names another"),
        ([], {"CANTON_DATABASE": "sqlite:///x.db"}, "CANTON_DATABASE names another"),
        ([], {"CANTON_API_PUBLIC_URL": "https://canton.example.org"}, "api.public_url is https://canton.example.org"),
    ],
)
def test_dev_is_refused_beyond_this_machine_and_beside_another_server(
    tmp_path: Path, arguments: list[str], variables: dict[str, str], message: str
) -> None:
    result = subprocess.run(
        [CANTON, "serve", "--dev", *arguments],
        env=environment(tmp_path) | variables,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
    assert "password  " not in result.stderr


def test_dev_is_refused_where_a_server_is_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("canton.settings.file.DEFAULT_FILE", tmp_path / "server.toml")
    (tmp_path / "server.toml").write_text("")
    with pytest.raises(InvalidSetting, match=r"server\.toml names another"):
        dev.prepare(Flags(), {"XDG_STATE_HOME": str(tmp_path)})


@pytest.mark.parametrize("command", [["serve", "--listen", "127.0.0.1:0"], ["settings", "--check"]])
def test_a_server_without_an_issuer_is_refused(tmp_path: Path, command: list[str]) -> None:
    result = subprocess.run(
        [CANTON, *command], env=environment(tmp_path), capture_output=True, text=True, timeout=30, check=False
    )
    assert (result.returncode, result.stdout) == (2, "")
    assert "no issuer is configured" in result.stderr
    assert "canton serve --dev" in result.stderr
