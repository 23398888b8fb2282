"""``canton serve --dev``: a server for one person on one machine, made from nothing and kept between starts.

It is an ordinary server with an ordinary configuration file, which is written at the first start. All of it is in one
folder: remove the folder to begin anew.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from ipaddress import ip_address
from pathlib import Path

import click

from canton import wiring
from canton.domain.errors import InvalidSetting
from canton.domain.nodeset.nodeset import expand
from canton.issuer.passwords import hash_password
from canton.settings import file, loading
from canton.settings.definition import StateFile
from canton.settings.loading import Flags
from canton.settings.model import Settings
from canton.store.maintenance import migrate

ADMINISTRATOR = "admin"
SITE = "laptop"
TENANT = "psi"
NODES = "x1000c0s[0-3]b0n[0-1]"


def prepare(flags: Flags, environment: Mapping[str, str]) -> Flags:
    """Write the configuration and the pretend nodes if they are not there; the flags that use them."""
    folder = Path(StateFile("dev").under(environment))
    _refuse_another(flags, environment, folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    config = folder / "server.toml"
    _write_nodes(folder)
    if not config.exists():
        _write(config, _configuration(folder))
    return Flags(config, None, flags.listen)


def check(settings: Settings) -> None:
    """Only this machine may reach it, and not by another name either."""
    listen, name = settings.api.listen, settings.api.public_url
    wrong = [] if ip_address(listen.host).is_loopback else [f"api.listen is {listen}"]
    wrong += [f"api.public_url is {name}"] if name else []
    if wrong:
        raise InvalidSetting(
            f"canton serve --dev is for this machine only, and {' and '.join(wrong)}; leave that out, or set up a "
            "server with an issuer of your own: canton serve --config FILE"
        )


def fill(settings: Settings) -> str:
    """Create or upgrade the database, and make the administrator; what to say of the password, empty if it is known."""
    click.echo("canton: a DEVELOPMENT server: for one person on this machine, with pretend nodes", err=True)
    with closing(wiring.open_database(settings, create=True)) as database:
        migrate.upgrade(database)
    users = settings.embedded_issuer.users
    if users is None or users.exists():
        return ""
    password = secrets.token_urlsafe(12)
    _write(
        users,
        f'[users.{ADMINISTRATOR}]\npassword = "{hash_password(password)}"\nroles = ["canton-provider-admin"]\n',
    )
    return (
        f"\n  user      {ADMINISTRATOR}\n  password  {password}\n\n"
        f"The password is shown only now. {users} holds its hash; remove that file for a new one.\n"
    )


@contextmanager
def shown_once(text: str) -> Iterator[Callable[[], None]]:
    """A function that prints the text once. If it was not called, the end of the block prints it: nothing is lost."""
    texts = [text] if text else []

    def show() -> None:
        if texts:
            click.echo(texts.pop(), err=True)

    try:
        yield show
    finally:
        show()


def first_steps(url: str, config: Path) -> str:
    """What to type next, in another terminal, where no virtual environment is active: the program with its path."""
    folder = config.parent
    steps = (
        f"login --context dev --server {url}",
        f"site create {SITE}",
        f"tenant create {TENANT}",
        f"node import --site {SITE} {shlex.quote(str(folder / 'nodes.csv'))} --reason 'pretend nodes'",
        "node list",
        f"node power on @{TENANT} --reason 'first steps' --wait",
    )
    program = _program()
    lines = "\n".join(f"  {program} {step}" for step in steps)
    ready = f"canton: ready at {url}; log in as {ADMINISTRATOR}. In another terminal:"
    return f"{ready}\n\n{lines}\n\nAll of it is in {folder}"


def _program() -> str:
    """The installed script as a shell takes it from any folder; without one, the interpreter and the module."""
    for script in (Path(sys.argv[0]), Path(sys.executable).with_name("canton")):
        if script.name == "canton" and script.is_file():
            return shlex.quote(str(script.absolute()))
    return f"{shlex.quote(sys.executable)} -m canton"


def _refuse_another(flags: Flags, environment: Mapping[str, str], folder: Path) -> None:
    """A server for development must not be mistaken for the one in production, nor touch its database."""
    sources = {
        "--config": flags.config,
        "--database": flags.database,
        loading.CONFIG: environment.get(loading.CONFIG),
        loading.DATABASE: environment.get(loading.DATABASE),
        str(file.DEFAULT_FILE): file.DEFAULT_FILE.exists(),
    }
    present = [name for name, value in sources.items() if value]
    if present:
        raise InvalidSetting(
            f"canton serve --dev has a configuration and a database of its own in {folder}, and {present[0]} names "
            "another; leave that out, or leave --dev out to run the server that it describes"
        )


def _configuration(folder: Path) -> str:
    def quoted(text: str | Path) -> str:
        return json.dumps(str(text), ensure_ascii=False)

    return f"""\
# Written by `canton serve --dev`, for one person on one machine. Not for production.
database = {quoted(f"sqlite:///{folder / 'canton.db'}")}

[embedded_issuer]
enabled = true
state = {quoted(folder / "issuer.db")}
users = {quoted(folder / "users.toml")}

[sites.{SITE}]
power = "demo"
folder = {quoted(folder / "power")}
"""


def _write_nodes(folder: Path) -> None:
    """Eight nodes that are files, half of them for the first tenant; and the list to import them from."""
    power = folder / "power"
    power.mkdir(mode=0o700, exist_ok=True)
    nodes = expand(NODES)
    rows = ["xname,nid,state,tenant"]
    for nid, node in enumerate(nodes, 1):
        if not (power / node).exists():
            (power / node).write_text("off")
        rows.append(f"{node},{nid},assigned,{TENANT}" if nid <= len(nodes) // 2 else f"{node},{nid},free,")
    if not (folder / "nodes.csv").exists():
        _write(folder / "nodes.csv", "\n".join([*rows, ""]))


def _write(path: Path, text: str) -> None:
    """Readable by its owner only, whole or not at all."""
    part = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)
