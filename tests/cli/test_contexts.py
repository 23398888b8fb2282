"""Contexts: which of several names counts, what a file may say, and how it is changed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from canton.cli.session import contexts
from canton.cli.session import paths as places
from canton.cli.session.session import Session
from canton.client import credentials as keeping
from cli.command_result import Run
from client import samples
from client.scripted_server import Reply, Script, items


def user_file(home: Path, text: str) -> Path:
    path = home / "config/canton/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def system_file(home: Path, text: str) -> None:
    (home / "etc").mkdir(exist_ok=True)
    (home / "etc/config.toml").write_text(text)


class TestOrder:
    def test_flag_over_environment_over_user_over_system(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        system_file(home, 'current = "a"\n[contexts.a]\nserver = "https://system-a"\ntenant = "t0"\nca = "/ca"\n')
        assert (Session({}).server, Session({}).tenant, Session({}).ca) == ("https://system-a", "t0", "/ca")
        user_file(home, '[contexts.a]\nserver = "https://user-a"\n[contexts.b]\nserver = "https://user-b"\n')
        assert (Session({}).server, Session({}).tenant) == ("https://user-a", "t0")
        monkeypatch.setenv("CANTON_CONTEXT", "b")
        assert (Session({}).server, Session({}).tenant) == ("https://user-b", None)
        monkeypatch.setenv("CANTON_SERVER", "https://environment/")
        monkeypatch.setenv("CANTON_TENANT", "t1")
        assert (Session({}).server, Session({}).tenant) == ("https://environment", "t1")
        flags: dict[str, object] = {"context": "a", "server": "https://flag", "tenant": "t2"}
        assert (Session(flags).server, Session(flags).tenant, Session(flags).context_name) == (
            "https://flag",
            "t2",
            "a",
        )

    def test_the_token_of_a_context_is_not_sent_elsewhere(
        self, canton: Run, context: Script, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("CANTON_TOKEN")
        keeping.write(places.credentials() / "alps.json", {"server": context.url, "access_token": "mine"})
        context.on("GET /v1/whoami", Reply(body=samples.whoami()))
        canton("whoami")
        canton("whoami", "--server", context.url.replace("127.0.0.1", "localhost"))
        assert [request.headers.get("authorization") for request in context.requests] == ["Bearer mine", None]

    @pytest.mark.usefixtures("context")
    def test_an_unknown_context_names_the_nearest(self, canton: Run) -> None:
        result = canton("whoami", "--context", "apls")
        assert result.status == 3
        assert 'there is no context "apls"; did you mean "alps"? There are: alps' in result.err


class TestFile:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('curent = "a"', 'unknown key "curent"; did you mean "current"?'),
            ('[contexts.a]\nserve = "x"', '[contexts.a] unknown key "serve"; did you mean "server"?'),
            ('[contexts.a]\ntoken = "x"', "secrets do not belong here"),
            ('[contexts.a]\nread_only = "yes"', "read_only must be true or false, not 'yes'"),
            ("[contexts]\na = 1", "contexts.a is not a table"),
            ("current = 1", "current must be a string in quotes"),
            ("a = = b", "is not TOML"),
        ],
    )
    def test_a_mistake_is_named_with_its_place(self, canton: Run, home: Path, text: str, message: str) -> None:
        path = user_file(home, text)
        result = canton("context", "list")
        assert (result.status, result.out) == (2, "")
        assert message in result.err
        assert str(path) in result.err

    def test_editing_leaves_comments_and_the_rest_alone(self, home: Path) -> None:
        path = user_file(
            home,
            '# my contexts\ncurrent = "a"\n\n[contexts.a] # first\nserver = "https://a" # the old one\n'
            'tenant = "psi"\n\n[contexts."b.c"]\nserver = "https://b"\n',
        )
        contexts.put(path, "a", {"server": "https://new", "tenant": None, "read_only": True})
        contexts.put(path, "d", {"server": 'https://d"\\'})
        contexts.use(path, "b.c")
        text = path.read_text()
        assert "# my contexts" in text
        settings = contexts.load()
        assert settings.current == "b.c"
        assert settings.by_name["a"] == contexts.Context(server="https://new", read_only=True)
        assert settings.by_name["b.c"].server == "https://b"
        assert settings.by_name["d"].server == 'https://d"\\'
        contexts.remove(path, "b.c")
        contexts.use(path, None)
        assert contexts.load() == contexts.Contexts(None, {name: settings.by_name[name] for name in ("a", "d")})

    def test_a_layout_it_does_not_understand_is_left_alone(self, canton: Run, home: Path) -> None:
        text = 'contexts = {a = {server = "https://a"}}\n'
        path = user_file(home, text)
        result = canton("context", "set", "a", "--tenant", "psi")
        assert result.status == 2
        assert path.read_text() == text

    def test_what_only_looks_like_a_context_is_not_edited(self, canton: Run, home: Path) -> None:
        text = '[contexts.b]\nserver = """\n[contexts.a]\n"""\n'
        path = user_file(home, text)
        result = canton("context", "set", "a", "--server", "https://a")
        assert result.status == 2
        assert "edit the file by hand" in result.err
        assert path.read_text() == text

    def test_a_link_stays_a_link(self, home: Path) -> None:
        real = home / "dotfiles.toml"
        real.write_text("")
        path = user_file(home, "")
        path.unlink()
        path.symlink_to(real)
        contexts.put(path, "a", {"server": "https://a"})
        assert path.is_symlink()
        assert "https://a" in real.read_text()


class TestCommands:
    def test_a_story(self, canton: Run) -> None:
        assert canton("context", "list") == (0, "", "canton: nothing to list\n")
        assert "create one" in canton("context", "show").err
        assert canton("context", "show", "-q") == (0, "", "")
        assert canton("context", "set", "alps", "--tenant", "psi").status == 2
        assert (
            canton("context", "set", "alps", "--server", "https://a", "--tenant", "psi").err
            == "canton: created context alps\n"
        )
        assert "nothing to do" in canton("context", "set", "alps", "--tenant", "psi").err
        assert canton("context", "show", "-q").out == "alps\n"
        canton("context", "set", "daint", "--server", "https://d", "--read-only")
        assert "already in use" in canton("context", "use", "alps").err
        assert canton("context", "use", "daint").status == 0
        rows = json.loads(canton("context", "list", "-o", "json").out)["items"]
        assert [(row["name"], row["current"], row["read_only"]) for row in rows] == [
            ("alps", False, False),
            ("daint", True, True),
        ]
        canton("context", "set", "daint", "--no-read-only", "--tenant", "")
        assert json.loads(canton("context", "show", "daint", "-o", "json").out)["read_only"] is False
        assert canton("context", "delete", "daint").status == 0
        assert canton("context", "use", "daint").status == 3

    @pytest.mark.parametrize("server", ["foo", "https://", "ftp://a"])
    def test_a_server_must_be_one(self, canton: Run, home: Path, server: str) -> None:
        result = canton("context", "set", "bad", "--server", server)
        assert result.status == 2
        assert "write it as https://canton.example.org" in result.err
        assert not (home / "config").exists()

    @pytest.mark.parametrize("name", ["a b", "../x", "", "[x]", "a" * 64, "ä"])
    def test_a_name_must_be_one(self, canton: Run, home: Path, name: str) -> None:
        assert canton("context", "set", name, "--server", "https://a").status == 2
        assert not (home / "config").exists()

    def test_the_system_s_context_is_not_ours_to_delete(self, canton: Run, home: Path) -> None:
        system_file(home, '[contexts.a]\nserver = "https://a"\n')
        result = canton("context", "delete", "a")
        assert result.status == 2
        assert "which this command does not change" in result.err

    def test_the_file_holds_no_secret(
        self, canton: Run, context: Script, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("CANTON_TOKEN")
        context.on("GET /v1/whoami", Reply(body=samples.whoami()))
        assert canton("login", "--token-stdin", stdin="hush-token\n").status == 0
        assert "hush-token" not in (home / "config/canton/config.toml").read_text()
        credentials_file = home / "state/canton/credentials/alps.json"
        assert credentials_file.stat().st_mode & 0o777 == 0o600
        context.on("GET /v1/tenants", items())
        canton("tenant", "list")
        assert context.last.headers["authorization"] == "Bearer hush-token"
