"""``canton completion``, and what a shell is offered: commands, options, and the names of things.

A shell calls ``canton`` on every TAB. Names come from the server at most every 30 seconds and from a file in between;
a server that does not answer at once is not waited for.
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
# A shell writes what it is offered on the command line as it is; no name of ours holds more than this.
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

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 (the choices are Click's own shells)
    click.echo(found.source_template % found(root, {}, "canton", "_CANTON_COMPLETE").source_vars())


def resources(kind: str, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """Names of a kind that begin as typed; of nodes also ``@tenant``."""
    if kind == "nodes" and incomplete.startswith("@"):
        return [CompletionItem(f"@{name}") for name in _known(ctx, "tenants") if f"@{name}".startswith(incomplete)]
    return [CompletionItem(name) for name in _known(ctx, kind) if name.startswith(incomplete)]


def selectors(ctx: click.Context, incomplete: str) -> list[CompletionItem]:
    """``state=``, then ``state=free``; after a comma the next."""
    from canton.domain.lifecycle import NodeState  # noqa: PLC0415

    values: dict[str, Callable[[], list[str]]] = {
        "site": lambda: _known(ctx, "sites"),
        "tenant": lambda: ["-", *_known(ctx, "tenants")],
        "state": lambda: [state.value for state in NodeState],
        "power": lambda: ["on", "off", "unknown"],
    }
    before, comma, last = incomplete.rpartition(",")
    key, equals, _ = last.partition("=")
    pairs = [f"{key}={value}" for value in values[key]()] if equals and key in values else [f"{key}=" for key in values]
    return [CompletionItem(f"{before}{comma}{pair}") for pair in pairs if pair.startswith(last)]


def _known(ctx: click.Context, kind: str) -> list[str]:
    """The names of a kind that a shell can be offered; none if they cannot be had quickly."""
    try:
        names = list(contexts.load().known) if kind == "contexts" else _cached(_session(ctx), kind)
    except (CantonError, OSError):
        return []
    return [name for name in names if _PLAIN.fullmatch(name)]


def _session(ctx: click.Context) -> Session:
    """The session that the words typed so far would make."""
    given: dict[str, object] = {}
    step: click.Context | None = ctx
    while step is not None:
        given = {key: value for key, value in step.params.items() if value} | given
        step = step.parent
    return Session({key: given.get(key) for key in ("context", "server", "tenant")})


def _cached(session: Session, kind: str) -> list[str]:
    """Answered from a file that is of the same server, tenant and caller, and young."""
    caller = _stamp(session)
    key = quote(f"{session.credentials_file.stem}+{session.tenant or ''}+{kind}", safe="+")
    path = places.cache() / f"{key}.json"
    try:
        kept = json.loads(path.read_text())
        if time.time() - path.stat().st_mtime < FRESH and kept["caller"] == caller:
            return [str(name) for name in kept["names"]]
    except (OSError, ValueError, LookupError, TypeError):
        pass
    found = list(_asked(session, kind))
    _keep(path, {"caller": caller, "names": found})
    return found


def _stamp(session: Session) -> str:
    """Something that changes with whoever is asking: one caller's names are not another's to see."""
    token = os.environ.get("CANTON_TOKEN")
    if token:
        import hashlib  # noqa: PLC0415

        return hashlib.sha256(token.encode()).hexdigest()
    try:
        return str(session.credentials_file.stat().st_mtime_ns)
    except OSError:
        return ""


def _asked(session: Session, kind: str) -> Iterable[str]:
    lists: dict[str, Callable[[Client], Iterable[str]]] = {
        "tenants": lambda c: (each["name"] for each in c.tenants.list(limit=MOST)),
        "sites": lambda c: (each["name"] for each in c.sites.list(limit=MOST)),
        "nodes": lambda c: (each["xname"] for each in c.nodes.list(limit=MOST)),
        "roles": lambda c: (role["name"] for role in c.roles.list(limit=MOST)),
        "permissions": lambda c: sorted({name for role in c.roles.list(limit=MOST) for name in role["permissions"]}),
        "operations": lambda c: (each["id"] for each in c.operations.list(limit=MOST)),
    }
    with session.connect(session.credentials(), timeout=PATIENCE, tries=1) as client:
        yield from lists[kind](client)


def _keep(path: Path, kept: dict[str, object]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.write_text(json.dumps(kept))
        new.replace(path)
    except OSError:
        return
