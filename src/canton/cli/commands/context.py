"""``canton context``: servers and tenants by name."""

from __future__ import annotations

import click

from canton.cli.input.options import complete_names, output_options
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

name = click.argument("name", shell_complete=complete_names("contexts"))


@click.group(
    epilog="\b\nExamples:\n  canton context set alps --server https://canton.example.org --tenant psi\n"
    "  canton context use alps"
)
def context() -> None:
    """Manage contexts: named servers and tenants.

    \b
    Precedence, highest first:
    1. the options of the command
    2. CANTON_CONTEXT, CANTON_SERVER, CANTON_TENANT, CANTON_TOKEN, CANTON_CA
    3. your own file, $XDG_CONFIG_HOME/canton/config.toml
    4. /etc/canton/config.toml
    """


@context.command("list", epilog="\b\nExample:\n  canton context list")
@output_options(CONTEXT, many=True)
def list_contexts(show: Show) -> None:
    """List contexts."""
    loaded = contexts.load()
    show.listing(CONTEXT, [_item(loaded, name) for name in sorted(loaded.by_name)])


@context.command("show", epilog="\b\nExamples:\n  canton context show\n  PS1='$(canton context show -q) $ '")
@click.argument("name", required=False, shell_complete=complete_names("contexts"))
@output_options(CONTEXT)
def show_context(show: Show, name: str | None) -> None:
    """Show a context; without NAME, the current one.

    With -q it prints only the name, for use in a shell prompt.
    """
    session = Session({})
    context_name = name or session.context_name
    if context_name is None:
        if not show.quiet:
            say("canton: no context is in use; create one with: canton context set NAME --server URL")
        return
    session.contexts.get(context_name)
    show.one(CONTEXT, _item(session.contexts, context_name))


@context.command("use", epilog="\b\nExample:\n  canton context use alps")
@name
def use_context(name: str) -> None:
    """Make a context the current one."""
    loaded = contexts.load()
    loaded.get(name)
    if loaded.current == name:
        say(f"canton: {name} is already in use; nothing to do")
        return
    contexts.use(places.user_config(), name)
    say(f"canton: {name} is in use")


@context.command(
    "set", epilog="\b\nExample:\n  canton context set alps --server https://canton.example.org --tenant psi"
)
@name
@click.option("--server", metavar="URL", help="The address of the server.")
@click.option("--tenant", metavar="TENANT", help="The tenant to use where a command names none; '' removes it.")
@click.option("--ca", metavar="FILE", type=click.Path(), help="Certificates to trust instead of the system's.")
@click.option("--read-only/--no-read-only", default=None, help="Refuse every change through this context.")
@click.option(
    "--plain-http/--no-plain-http", default=None, help="Allow http:// to another machine; tokens are sent unencrypted."
)
def set_context(name: str, **keys: str | bool | None) -> None:
    """Create or change a context in your own file."""
    new_keys = {key: value or None for key, value in keys.items() if value is not None}
    existing = contexts.load().by_name
    if name not in existing and not new_keys.get("server"):
        raise InvalidSetting(
            f"the context {name} does not exist yet; give the address of its server with --server https://…"
        )
    if server := new_keys.get("server"):
        contexts.require_address(str(server))
    own_keys = contexts.read(places.user_config()).get("contexts", {}).get(name, {})
    if name in existing and all(own_keys.get(key) == value for key, value in new_keys.items()):
        say(f"canton: the context {name} already has these values; nothing to do")
        return
    contexts.put(places.user_config(), name, new_keys)
    if contexts.load().current is None:
        contexts.use(places.user_config(), name)
    say(f"canton: {'changed' if name in existing else 'created'} context {name}")


@context.command("delete", epilog="\b\nExample:\n  canton context delete alps")
@name
def delete_context(name: str) -> None:
    """Delete a context of your own file, and its login."""
    loaded = contexts.load()
    loaded.get(name)
    path = places.user_config()
    own_file = contexts.read(path)
    if name not in own_file.get("contexts", {}):
        raise InvalidSetting(f"the context {name} is in {places.SYSTEM_CONFIG}, which this command does not change")
    if own_file.get("current") == name:
        contexts.use(path, None)
    contexts.remove(path, name)
    (places.credentials() / f"{name}.json").unlink(missing_ok=True)
    say(f"canton: deleted context {name}")


def _item(loaded: contexts.Contexts, name: str) -> dict[str, object]:
    return {"name": name, "current": name == loaded.current, **loaded.by_name[name]._asdict()}
