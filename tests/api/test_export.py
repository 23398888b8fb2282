"""What `canton export` writes, `canton apply` reads: on a real server, from one to another, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from api.conftest import Api, made_services, serving
from canton.cli.main import main
from canton.store.database import Database
from tokens import Mint


@pytest.fixture
def api(database: Database, tokens: Mint) -> Iterator[Api]:
    """A server whose configuration names the issuers that it trusts."""
    services = made_services(database, tokens)
    trusted = replace(services.settings.embedded_issuer, enabled=True, name="test")
    configured = replace(services.settings, embedded_issuer=trusted)
    with serving(replace(services, settings=configured), tokens) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, admin: Api) -> Path:
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("CANTON_SERVER", admin.url)
    monkeypatch.setenv("CANTON_TOKEN", admin.token or "")
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["canton", *arguments])
    return main()


DECLARED = """
sites: [{name: alps, description: "Lugano, hall 1: 'east'"}, {name: hohgant, description: ''}]
tenants:
  - name: psi
    description: Institut für "Licht" — Villigen
    quota: {nodes: 64, open_operations: null, service_accounts: 8}
    members:
      - {subject: "test:alice", role: tenant-admin}
      - {subject: "test:group/psi-ops", role: tenant-operator, until: 2099-01-31T18:00:00.000001Z}
  - {name: empty, description: ''}
"""


def test_an_export_differs_in_nothing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "site.yaml").write_text(DECLARED)
    assert run(monkeypatch, "apply", "-f", str(home / "site.yaml"), "--reason", "a test") == 0, capsys.readouterr()
    assert run(monkeypatch, "diff", "-f", str(home / "site.yaml")) == 0
    capsys.readouterr()
    assert run(monkeypatch, "export") == 0
    exported = capsys.readouterr().out
    (home / "export.yaml").write_text(exported)
    assert run(monkeypatch, "diff", "-f", str(home / "export.yaml")) == 0
    assert capsys.readouterr().out == ""
    [empty, psi] = sorted(yaml.safe_load(exported)["tenants"], key=lambda tenant: str(tenant["name"]))
    assert (empty["members"], psi["quota"]["open_operations"], len(psi["members"])) == ([], None, 2)
    assert run(monkeypatch, "apply", "-f", str(home / "export.yaml")) == 0
    assert "the server already matches the file" in capsys.readouterr().err


def test_an_unknown_issuer_stops_everything_beforehand(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], admin: Api
) -> None:
    (home / "site.yaml").write_text(DECLARED.replace("test:alice", "elsewhere:alice"))
    for command in ("diff", "apply"):
        assert run(monkeypatch, command, "-f", str(home / "site.yaml")) == 2
        assert 'the server trusts no issuer "elsewhere"; it trusts test' in capsys.readouterr().err
    assert admin.get("/v1/sites").json["items"] == []
