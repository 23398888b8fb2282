"""``canton context``: servers and tenants by name."""

from __future__ import annotations

import click

from canton.cli.input.options import names, shown
from canton.cli.output.formats import Column, Shape, Show
from canton.cli.output.terminal import say
from canton.cli.session import contexts
from canton.cli.session import paths as places
from canton.cli.session.session import Session
from canton.domain.errors import InvalidSetting

CONTEXT = Shape(
    "context",
    "name",
    (
        Column("name", "name"),
        Column("current", "current"),
        Column("server", "server"),
        Column("tenant", "tenant"),
        Column("read-only", "read_only"),
        Column("ca", "ca", wide=True),
        Column("plain-http", "plain_http", wide=True),
    ),
)

name = click.argument("name", shell_complete=names("contexts"))


@click.group(
    epilog="\b\nExamples:\n  canton context set alps --server https://canton.example.org --tenant psi\n"
    "  canton context use alps"
)
def context() -> None:
    """Name servers and tenants, and choose between them.

    \b
    A flag counts more than the environment (CANTON_CONTEXT, CANTON_SERVER,
    CANTON_TENANT, CANTON_TOKEN, CANTON_CA), that more than your own file
    $XDG_CONFIG_HOME/canton/config.toml, and that more than
    /etc/canton/config.toml.
    """


@context.command("list", epilog="\b\nExample:\n  canton context list")
@shown(CONTEXT, many=True)
def list_contexts(show: Show) -> None:
    """List contexts."""
    found = contexts.load()
    show.listing(CONTEXT, [_item(found, each) for each in sorted(found.known)])


@context.command("show", epilog="\b\nExamples:\n  canton context show\n  PS1='$(canton context show -q) $ '")
@click.argument("name", required=False, shell_complete=names("contexts"))
@shown(CONTEXT)
def show_context(show: Show, name: str | None) -> None:
    """Show a context, or the one in use.

    With -q it prints the name alone, which fits into a prompt.
    """
    session = Session({})
    chosen = name or session.context_name
    if chosen is None:
        if not show.quiet:
            say("canton: no context is in use; create one with: canton context set NAME --server URL")
        return
    session.contexts.get(chosen)
    show.one(CONTEXT, _item(session.contexts, chosen))


@context.command("use", epilog="\b\nExample:\n  canton context use alps")
@name
def use_context(name: str) -> None:
    """Use a context from now on."""
    found = contexts.load()
    found.get(name)
    if found.current == name:
        say(f"canton: {name} is already in use; nothing to do")
        return
    contexts.use(places.user_config(), name)
    say(f"canton: {name} is in use")


@context.command(
    "set", epilog="\b\nExample:\n  canton context set alps --server https://canton.example.org --tenant psi"
)
@name
@click.option("--server", metavar="URL", help="The address of the server.")
@click.option("--tenant", metavar="TENANT", help="The tenant that is meant where none is named; empty for none.")
@click.option("--ca", metavar="FILE", type=click.Path(), help="Certificates to trust instead of the system's.")
@click.option("--read-only/--no-read-only", default=None, help="Refuse every change through this context.")
@click.option("--plain-http/--no-plain-http", default=None, help="Send tokens unencrypted to a server elsewhere.")
def set_context(name: str, **keys: str | bool | None) -> None:
    """Create or change a context in your own file."""
    given = {key: value or None for key, value in keys.items() if value is not None}
    known = contexts.load().known
    if name not in known and not given.get("server"):
        raise InvalidSetting(f"the context {name} is new; where is its server? Give --server https://…")
    if server := given.get("server"):
        contexts.require_address(str(server))
    before = contexts.read(places.user_config()).get("contexts", {}).get(name, {})
    if name in known and all(before.get(key) == value for key, value in given.items()):
        say(f"canton: {name} is already so; nothing to do")
        return
    contexts.put(places.user_config(), name, given)
    if contexts.load().current is None:
        contexts.use(places.user_config(), name)
    say(f"canton: {'changed' if name in known else 'created'} context {name}")


@context.command("delete", epilog="\b\nExample:\n  canton context delete alps")
@name
def delete_context(name: str) -> None:
    """Delete a context of your own file, and its login."""
    found = contexts.load()
    found.get(name)
    path = places.user_config()
    told = contexts.read(path)
    if name not in told.get("contexts", {}):
        raise InvalidSetting(f"the context {name} is in {places.SYSTEM_CONFIG}, which is not yours to change")
    if told.get("current") == name:
        contexts.use(path, None)
    contexts.remove(path, name)
    (places.credentials() / f"{name}.json").unlink(missing_ok=True)
    say(f"canton: deleted context {name}")


def _item(found: contexts.Contexts, each: str) -> dict[str, object]:
    return {"name": each, "current": each == found.current, **found.known[each]._asdict()}
