"""``canton completion``, and the completions for a shell: commands, options, and names from the server.

A shell calls ``canton`` on every TAB. Names are fetched from the server at most every 30 seconds and cached in a file;
a server that does not answer within 2 seconds gives no names.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import click
from click.shell_completion import CompletionItem, get_completion_class

from canton.cli.session import contexts
from canton.cli.session import paths as places
from canton.cli.session.session import Session
from canton.domain.errors import CantonError

if TYPE_CHECKING:
    from canton.client import Client

FRESH = 30.0
PATIENCE = 2.0
MOST = 1000
# A shell inserts a completion into the command line unescaped; our names hold no other characters than these.
_PLAIN = re.compile(r"[A-Za-z0-9._-]+")

HOW = {
    "bash": "canton completion bash > ~/.local/share/bash-completion/completions/canton",
    "zsh": "canton completion zsh > ~/.zfunc/_canton   (with ~/.zfunc in fpath, before compinit)",
    "fish": "canton completion fish > ~/.config/fish/completions/canton.fish",
}


@click.command(
    epilog="\b\nExamples:\n  canton completion bash > ~/.local/share/bash-completion/completions/canton\n"
    "  canton completion fish > ~/.config/fish/completions/canton.fish"
)
@click.argument("shell", type=click.Choice(list(HOW)))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    It completes commands, options, contexts, selectors, and the names of tenants, sites, nodes, operations, roles and
    permissions.
    """
    from canton.cli.main import root  # noqa: PLC0415 (main imports this)

    shell_class = get_completion_class(shell)
    assert shell_class is not None  # noqa: S101 (the choices are Click's own shells)
    click.echo(shell_class.source_template % shell_class(root, {}, "canton", "_CANTON_COMPLETE").source_vars())


def resources(kind: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """The names of a kind that begin with what was typed; for nodes also ``@tenant``."""
    if kind == "nodes" and incomplete.startswith("@"):
        return [
            CompletionItem(f"@{name}") for name in _offered_names(ctx, "tenants") if f"@{name}".startswith(incomplete)
        ]
    return [CompletionItem(name) for name in _offered_names(ctx, kind) if name.startswith(incomplete)]


def selectors(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """``state=``, then ``state=free``; after a comma the next."""
    from canton.domain.lifecycle import NodeState  # noqa: PLC0415

    values: dict[str, Callable[[], list[str]]] = {
        "site": lambda: _offered_names(ctx, "sites"),
        "tenant": lambda: ["-", *_offered_names(ctx, "tenants")],
        "state": lambda: [state.value for state in NodeState],
        "power": lambda: ["on", "off", "unknown"],
    }
    previous_pairs, comma, last = incomplete.rpartition(",")
    key, equals, _ = last.partition("=")
    pairs = [f"{key}={value}" for value in values[key]()] if equals and key in values else [f"{key}=" for key in values]
    return [CompletionItem(f"{previous_pairs}{comma}{pair}") for pair in pairs if pair.startswith(last)]


def _offered_names(ctx: click.Context, kind: str) -> list[str]:
    """The names of a kind that are safe in a shell; none if the server does not answer quickly."""
    try:
        names = list(contexts.load().by_name) if kind == "contexts" else _cached(_session(ctx), kind)
    except (CantonError, OSError):
        return []
    return [name for name in names if _PLAIN.fullmatch(name)]


def _session(ctx: click.Context) -> Session:
    """The session of the options typed so far."""
    values: dict[str, object] = {}
    step: click.Context | None = ctx
    while step is not None:
        values = {key: value for key, value in step.params.items() if value} | values
        step = step.parent
    return Session({key: values.get(key) for key in ("context", "server", "tenant")})


def _cached(session: Session, kind: str) -> list[str]:
    """The names from the cache of this server, tenant and caller if it is younger than 30 s, else from the server."""
    caller = _caller_stamp(session)
    key = quote(f"{session.credentials_file.stem}+{session.tenant or ''}+{kind}", safe="+")
    path = places.cache() / f"{key}.json"
    try:
        cached = json.loads(path.read_text())
        if time.time() - path.stat().st_mtime < FRESH and cached["caller"] == caller:
            return [str(name) for name in cached["names"]]
    except (OSError, ValueError, LookupError, TypeError):
        pass
    names = list(_fetch_names(session, kind))
    _write_cache(path, {"caller": caller, "names": names})
    return names


def _caller_stamp(session: Session) -> str:
    """A text that differs between callers: one caller must not see the names of another."""
    token = os.environ.get("CANTON_TOKEN")
    if token:
        import hashlib  # noqa: PLC0415

        return hashlib.sha256(token.encode()).hexdigest()
    try:
        return str(session.credentials_file.stat().st_mtime_ns)
    except OSError:
        return ""


def _fetch_names(session: Session, kind: str) -> Iterable[str]:
    lists: dict[str, Callable[[Client], Iterable[str]]] = {
        "tenants": lambda c: (tenant["name"] for tenant in c.tenants.list(limit=MOST)),
        "sites": lambda c: (site["name"] for site in c.sites.list(limit=MOST)),
        "nodes": lambda c: (node["xname"] for node in c.nodes.list(limit=MOST)),
        "roles": lambda c: (role["name"] for role in c.roles.list(limit=MOST)),
        "permissions": lambda c: sorted({name for role in c.roles.list(limit=MOST) for name in role["permissions"]}),
        "operations": lambda c: (operation["id"] for operation in c.operations.list(limit=MOST)),
    }
    with session.connect(session.credentials(), timeout=PATIENCE, tries=1) as client:
        yield from lists[kind](client)


def _write_cache(path: Path, content: dict[str, object]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(json.dumps(content))
        new.replace(path)
    except OSError:
        return
