"""Settings: one table, the four sources of a value, and the messages about mistakes."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canton import wiring
from canton.admin.settings_reference import settings_page
from canton.domain.errors import InvalidSetting
from canton.issuer.passwords import hash_password
from canton.settings import loading
from canton.settings.definition import REQUIRED
from canton.settings.kinds import Address
from canton.settings.loading import Flags
from canton.settings.model import Settings
from canton.settings.settings_table import TABLE, variables

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to_file(text: str) -> Path:
        path = tmp_path / "server.toml"
        path.write_text(text)
        path.chmod(0o640)
        return path

    return to_file


@pytest.fixture(autouse=True)
def _no_usual_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("canton.settings.file.DEFAULT_FILE", tmp_path / "usual.toml")


def load(path: Path | None = None, /, listen: str | None = None, **environment: str) -> Settings:
    return loading.build(loading.effective(environment, Flags(config=path, listen=listen)))


def mistakes(path: Path | None = None, /, **environment: str) -> list[str]:
    with pytest.raises(InvalidSetting) as refusal:
        load(path, **environment)
    reported = refusal.value.details["mistakes"]
    assert isinstance(reported, list)
    assert all(mistake in refusal.value.message for mistake in reported)
    return reported


def test_a_usual_file_that_cannot_be_looked_for_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a folder that only root may look into: it may be there, so the defaults are not taken instead."""
    (tmp_path / "closed").write_text("")
    monkeypatch.setattr("canton.settings.file.DEFAULT_FILE", tmp_path / "closed" / "server.toml")
    with pytest.raises(InvalidSetting, match="cannot read the configuration"):
        load()


def test_without_anything_it_suits_a_laptop() -> None:
    settings = load(XDG_STATE_HOME="/state")
    assert settings.database == "sqlite:////state/canton/canton.db"
    assert settings.api.listen == Address("127.0.0.1", 8700)
    assert (settings.api.body_limit, settings.api.timeout, settings.api.proxies) == (1 << 20, 30.0, ())
    assert not settings.embedded_issuer.enabled
    assert (settings.issuers, settings.roles, settings.sites) == ({}, {}, {})


def test_a_relative_state_folder_is_ignored() -> None:
    assert load(XDG_STATE_HOME="here").database.endswith("/.local/state/canton/canton.db")


def test_the_flag_wins_over_the_environment_over_the_file(write: Write) -> None:
    path = write('[api]\nlisten = "127.0.0.1:1"\n')
    assert load(path).api.listen.port == 1
    assert load(path, CANTON_API_LISTEN="127.0.0.1:2").api.listen.port == 2
    assert load(path, listen="127.0.0.1:3", CANTON_API_LISTEN="127.0.0.1:2").api.listen.port == 3
    assert load(path, CANTON_API_LISTEN="").api.listen.port == 1


def test_the_environment_can_name_the_file(write: Write) -> None:
    assert load(None, CANTON_CONFIG=str(write("[worker]\nlease = 20"))).worker.lease == 20


def test_the_usual_file_is_read_if_it_is_there(tmp_path: Path) -> None:
    (tmp_path / "usual.toml").write_text("[worker]\nlease = 21")
    assert load().worker.lease == 21


def test_where_each_value_came_from_is_known(write: Write) -> None:
    path = write('# ours\n[log]\nlevel = "debug"\n')
    flags = Flags(config=path, database="sqlite:////x.db")
    origins = {it.key: it.origin for it in loading.effective({"CANTON_LOG_FORMAT": "json"}, flags)}
    assert origins["database"] == "flag"
    assert origins["log.format"] == "CANTON_LOG_FORMAT"
    assert origins["log.level"] == f"{path} line 3"
    assert origins["api.listen"] == "default"


def test_a_whole_file(write: Write) -> None:
    settings = load(
        write("""
            database = "postgresql://canton@db/canton"
            [api]
            listen = "[::1]:8700"
            body_limit = "2 MiB"
            timeout = "1m"
            proxies = ["10.0.0.0/8", "::1"]
            [policy]
            two_person = ["tenant.delete"]
            [issuers.cscs]
            url = "https://login.example.org/realms/hpc/"
            audience = ["canton", "account"]
            [[issuers.cscs.rules]]
            claim = "groups"
            match = "/admins"
            role = "provider-admin"
            [roles.switcher]
            scope = "tenant"
            permissions = ["node.power"]
            [sites.alps]
            power = "demo"
            folder = "/srv/alps"
            latency = 0.25
        """)
    )
    assert str(settings.api.listen) == "[::1]:8700"
    assert (settings.api.body_limit, settings.api.timeout, settings.api.proxies) == (
        2 << 20,
        60.0,
        ("10.0.0.0/8", "::1"),
    )
    assert settings.issuers["cscs"].url == "https://login.example.org/realms/hpc/"
    assert settings.issuers["cscs"].rules == ({"claim": "groups", "match": "/admins", "role": "provider-admin"},)
    assert settings.issuers["cscs"].client_id == "canton"
    assert settings.roles["switcher"].permissions == ("node.power",)
    assert (settings.sites["alps"].folder, settings.sites["alps"].latency) == (Path("/srv/alps"), 0.25)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('databse = "x"', 'line 1: there is no setting "databse"; did you mean "database"?'),
        ('[api]\n\nlistn = "x:1"', 'line 3: there is no setting "api.listn"; did you mean "api.listen"?'),
        ("[apo]\ntimeout = 1", 'line 1: there is no setting "apo"; did you mean "api"?'),
        ("[worker]\ndrain = 3", 'line 2: there is no setting "worker.drain"; did you mean "api.drain"?'),
        ("[log]\nzzz = 3", 'there is no setting "log.zzz"; choose from: format, level'),
        ('[api]\ntimeout = "soon"', 'line 2: api.timeout is "soon"; write a duration from 0.1 to 3600 seconds'),
        ("[api]\nconcurrency = true", "api.concurrency is true; write a whole number from 1 to 10000"),
        ('[api]\nconcurrency = "128"', 'api.concurrency is "128"; write a whole number'),
        ('[api]\nbody_limit = "1 MB"', 'api.body_limit is "1 MB"; write a size'),
        ('[api]\nlisten = "localhost"', 'api.listen is "localhost"; write host:port'),
        ('[api]\nlisten = "127.0.0.1:70000"', "write host:port"),
        ('[api]\nproxies = ["everybody"]', "write a list of addresses or networks"),
        ('[log]\nformat = "xml"', 'log.format is "xml"; write one of auto, json, console'),
        ("api = 3", "line 1: api is 3; it is a table, write [api]"),
        ("[sites]\nalps = 1", "sites.alps is 1; it is a table, write [sites.alps]"),
        ('[sites.Alps]\npower = "demo"', '"Alps" cannot be a name here; write up to 31 of a-z'),
        ("[sites.alps]", "line 1: sites.alps.power is missing; write one of csm, demo"),
        (
            '[sites.alps]\npwer = "demo"',
            'line 2: there is no setting "sites.alps.pwer"; did you mean "sites.alps.power"?',
        ),
        ('[issuers.cscs]\nurl = "login"', "issuers.cscs.url is"),
        ('[embedded_issuer]\nenabled = "yes"', "write true or false"),
    ],
)
def test_a_mistake_in_the_file_names_line_and_remedy(write: Write, text: str, message: str) -> None:
    path = write(text)
    assert any(str(path) in mistake and message in mistake for mistake in mistakes(path))


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("CANTON_DATABASES", "x", "there is no environment variable CANTON_DATABASES; did you mean CANTON_DATABASE?"),
        ("CANTON_API_LISTENS", "x", "did you mean CANTON_API_LISTEN?"),
        ("CANTON_APILISTEN", "x", "did you mean CANTON_API_LISTEN?"),
        ("CANTON_CONFIGS", "x", "did you mean CANTON_CONFIG?"),
        ("CANTON_LOG_COLOUR", "x", "choose from: CANTON_LOG_FORMAT, CANTON_LOG_LEVEL"),
        ("CANTON_SITES_ALPS_POWER", "demo", "named tables are set in the file only"),
        ("CANTON_API_CONCURRENCY", "many", 'CANTON_API_CONCURRENCY: api.concurrency is "many"; write a whole number'),
        ("CANTON_EMBEDDED_ISSUER_ENABLED", "1", "write true or false"),
    ],
)
def test_a_mistake_in_the_environment_is_told(variable: str, value: str, message: str) -> None:
    [mistake] = mistakes(None, **{variable: value})
    assert message in mistake


@pytest.mark.parametrize(
    "name", ["CANTON_DEBUG", "CANTON_TOKEN", "CANTON_CONTEXT", "CANTON_TEST_POSTGRESQL", "CANTONMENT"]
)
def test_other_variables_are_no_mistake(name: str) -> None:
    load(None, **{name: "x"})


def test_lists_and_flags_come_from_the_environment_too() -> None:
    settings = load(None, CANTON_API_PROXIES="10.0.0.1, 10.1.0.0/16", CANTON_EMBEDDED_ISSUER_ENABLED="true")
    assert settings.api.proxies == ("10.0.0.1", "10.1.0.0/16")
    assert settings.embedded_issuer.enabled


def test_all_mistakes_are_told_at_once(write: Write) -> None:
    path = write('[api]\nlistn = "x"\ntimeout = -1\n[log]\nlevel = "loud"\n')
    assert len(mistakes(path, CANTON_WORKER_LEASE="long")) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[api]\ntls_key = "/k.pem"', "of api.tls_certificate and api.tls_key only one is set"),
        ('[sites.alps]\npower = "demo"', "sites.alps has power = demo and no folder"),
        ('[sites.alps]\npower = "csm"\nurl = "https://api.x"', "sites.alps has power = csm and no secret_file"),
        ('[sites.alps]\npower = "csm"\nsecret_file = "/s"', "sites.alps has power = csm and no url"),
        ('[issuers.c]\nurl = "https://x"\npreset = "csm"\nrules = [{}]', "both preset and rules; keep one"),
        ('[policy]\ntoken_ttl = "2d"\ntoken_ttl_limit = "1d"', "policy.token_ttl is longer"),
    ],
)
def test_values_that_do_not_go_together_are_refused(write: Write, text: str, message: str) -> None:
    assert message in " ".join(mistakes(write(text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[policy]\ntwo_person = ['tenant.delet']", 'did you mean "tenant.delete"?'),
        ("[policy]\ntwo_person = ['tenant.read']", "not a permission to change something"),
        ("[roles.x]\nscope = 'tenant'\npermissions = ['node.powr']", 'did you mean "node.power"?'),
        ("[roles.auditor]\nscope = 'tenant'\npermissions = []", "is built in"),
        ("[sites.alps]\npower = 'demo'\nfolder = '/nowhere/at/all'", "which is not a folder"),
        ("[issuers.c]\nurl = 'http://login.example.org'", "https://"),
        ("[issuers.c]\nurl = 'https://l'\nrules = [{claim = 'a', mach = 'b', role = 'c'}]", 'did you mean "match"?'),
        ("[issuers.c]\nurl = 'https://l'\nrules = [{claim = 'a', match = 'b'}]", "has no role"),
        ("[embedded_issuer]\nenabled = true", "has no users"),
        (
            "[api]\nlisten = '0.0.0.0:1'\npublic_url = 'http://127.0.0.1:1'\n"
            "[embedded_issuer]\nenabled = true\nusers = 'x'",
            "for this machine only",
        ),
        ("[embedded_issuer]\nenabled = true\nusers = '/nowhere.toml'", "cannot read /nowhere.toml"),
        ("[api]\ntls_key = '/nowhere.pem'\ntls_certificate = '/nowhere.pem'", "cannot read /nowhere.pem"),
    ],
)
def test_a_check_finds_what_no_single_value_shows(write: Write, text: str, message: str) -> None:
    with pytest.raises(InvalidSetting) as refusal:
        wiring.check(load(write(text)))
    assert message in refusal.value.message


@pytest.mark.parametrize(
    ("users", "message"),
    [
        ("[users.alice]\npasword = 'x'", 'did you mean "password"?'),
        ("[users.alice]\npassword = 'x'\nroles = 'admin'", "roles must be a list of texts"),
        ("[users.alice]\nname = 'Alice'", "has no password"),
        ("alice = 1", "must hold tables such as [users.alice]"),
        ("[users", "is not TOML"),
    ],
)
def test_the_file_of_the_embedded_issuers_users_is_checked(
    write: Write, tmp_path: Path, users: str, message: str
) -> None:
    (tmp_path / "users.toml").write_text(users)
    settings = load(write(f"[embedded_issuer]\nenabled = true\nusers = '{tmp_path / 'users.toml'}'"))
    with pytest.raises(InvalidSetting) as refusal:
        wiring.check(settings)
    assert message in refusal.value.message


def test_a_file_that_is_not_there_or_no_toml_is_refused(tmp_path: Path, write: Write) -> None:
    with pytest.raises(InvalidSetting, match=r"cannot read the configuration .*none\.toml"):
        load(tmp_path / "none.toml")
    with pytest.raises(InvalidSetting, match=r"is not TOML: .*line 2"):
        load(write("[api]\nlisten = \n"))


def test_a_refusal_does_not_quote_a_secret(write: Write) -> None:
    [mistake] = mistakes(write('database = ["postgresql://canton:hunter2@db/canton"]'))
    assert "hunter2" not in mistake


@given(st.text(max_size=40))
def test_no_text_makes_reading_fail_otherwise(text: str) -> None:
    for name in variables().values():
        with suppress(InvalidSetting):
            load(None, **{name: text})


def test_every_setting_is_explained_and_on_the_page() -> None:
    page = settings_page()
    for setting in TABLE:
        table, _, name = setting.key.rpartition(".")
        assert setting.help
        assert not setting.help.endswith(".")
        assert f"| `{name}` |" in page.partition(f"`[{table.replace('*', 'NAME')}]`" if table else "At the top")[2]
        if "*" not in setting.key:
            assert variables()[setting.key] in page
    assert not any(setting.default is REQUIRED for setting in TABLE if "*" not in setting.key)


def test_the_configuration_in_the_manual_is_one(write: Write) -> None:
    manual = Path(__file__).parents[2] / "docs" / "howto" / "run-a-server.md"
    [example] = re.findall(r"^```toml\n(.*?)^```$", manual.read_text(), re.MULTILINE | re.DOTALL)
    assert load(write(example)).policy.two_person == ("tenant.delete",)


PLAIN = "[users.alice]\npassword = 'choose your own'"
HASHED = f"[users.alice]\npassword = '{hash_password('choose your own')}'"


@pytest.mark.parametrize(
    ("users", "mode", "advice"),
    [
        (PLAIN, 0o600, None),
        (PLAIN, 0o400, None),
        (PLAIN, 0o640, "chmod 600 "),
        (PLAIN, 0o604, "chmod 600 "),
        (PLAIN, 0o644, "chmod 600 "),
        (f"{HASHED}\n{PLAIN.replace('alice', 'bob')}", 0o644, "chmod 600 "),
        ("[users.alice]\npassword = 'scrypt$of$my$own$making$x'", 0o644, "chmod 600 "),
        (HASHED, 0o644, None),
        (HASHED, 0o664, "chmod go-w "),
        (HASHED, 0o646, "chmod go-w "),
    ],
)
def test_plain_passwords_are_for_their_owner_alone(
    write: Write, tmp_path: Path, users: str, mode: int, advice: str | None
) -> None:
    path = tmp_path / "users.toml"
    path.write_text(users)
    path.chmod(mode)
    settings = load(write(f"[embedded_issuer]\nenabled = true\nusers = '{path}'"))
    if advice is None:
        wiring.check(settings)
        return
    with pytest.raises(InvalidSetting) as refusal:
        wiring.check(settings)
    assert f"{advice}{path}" in refusal.value.message
    assert f"{mode:04o}" in refusal.value.message
    assert "choose your own" not in refusal.value.message


MODES = [(0o600, True), (0o400, True), (0o640, True), (0o644, False), (0o604, False), (0o602, False), (0o660, False)]


@pytest.mark.parametrize("kind", ["secret_file", "tls_key"])
@pytest.mark.parametrize(("mode", "good"), MODES)
def test_a_file_with_a_secret_is_for_its_owner_and_group(
    write: Write, tmp_path: Path, kind: str, mode: int, good: bool
) -> None:
    path = tmp_path / "secret"
    path.write_text("hunter2")
    path.chmod(mode)
    text = {
        "secret_file": f"[sites.alps]\npower = 'csm'\nurl = 'https://x'\nsecret_file = '{path}'",
        "tls_key": f"[api]\ntls_key = '{path}'\ntls_certificate = '{path}'",
    }[kind]
    settings = load(write(f"{text}\n[issuers.c]\nurl = 'https://l'"))
    if good:
        wiring.check(settings)
        return
    with pytest.raises(InvalidSetting) as refusal:
        wiring.check(settings)
    assert kind in refusal.value.message
    assert f"(mode {mode:04o}); run: chmod o-rwx,g-w {path}" in refusal.value.message


@pytest.mark.parametrize(("mode", "good"), MODES)
@pytest.mark.parametrize(
    ("database", "secret"),
    [
        ("postgresql://canton:hunter2@db/canton", True),
        ("postgresql://canton@db/canton?%70assword=hunter2", True),
        ("postgresql://canton:hunter2@@db/canton", True),
        ("host=db password=hunter2", True),
        ("host=db sslpassword = 'hunter2'", True),
        ("postgresql://canton@db/canton?passfile=/etc/canton/pgpass", False),
        ("host=db user=canton passfile=/etc/canton/pgpass", False),
        ("sqlite:////var/lib/canton/canton.db", False),
    ],
)
@pytest.mark.parametrize("elsewhere", [None, "sqlite:////tmp/x.db"])
def test_a_configuration_with_a_password_is_for_its_owner_and_group(
    write: Write, database: str, secret: bool, mode: int, good: bool, elsewhere: str | None
) -> None:
    path = write(f'database = "{database}"')
    path.chmod(mode)
    environment = {} if elsewhere is None else {"CANTON_DATABASE": elsewhere}
    if good or not secret:
        assert load(path, **environment).database == (elsewhere or database)
        return
    [mistake] = mistakes(path, **environment)
    assert (
        f"{path}, which holds the password of database, may be read or changed by others (mode {mode:04o})" in mistake
    )
    assert "hunter2" not in mistake


@pytest.mark.parametrize(
    "address",
    [
        "https://u:s3cret@login.example.org",
        "https://s3cret@login.example.org/realms/hpc",
        "https://u:s3cret@@login.example.org",
        "htps://u:s3cret@login.example.org",
        "u:s3cret@login.example.org",
    ],
)
@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[api]\npublic_url = 'URL'", "api.public_url"),
        ("[sites.alps]\npower = 'csm'\nsecret_file = '/s'\nurl = 'URL'", "sites.alps.url"),
        ("[issuers.c]\nurl = 'URL'", "issuers.c.url"),
    ],
)
def test_an_address_with_a_password_is_refused_and_not_repeated(
    write: Write, text: str, key: str, address: str
) -> None:
    with pytest.raises(InvalidSetting) as refusal:
        load(write(text.replace("URL", address)))
    assert f"{key} is an address with a user name or a password in it" in refusal.value.message
    assert "s3cret" not in f"{refusal.value.message}{refusal.value.details}"


def test_an_address_may_have_a_sign_in_its_path(write: Write) -> None:
    assert load(write("[issuers.c]\nurl = 'https://l/@hpc'")).issuers["c"].url == "https://l/@hpc"
