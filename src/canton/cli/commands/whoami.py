"""``canton whoami`` and ``canton can-i``."""

from __future__ import annotations

import click

from canton.cli.input.options import output_options, session_options
from canton.cli.output.columns import OWN_ROLE, WHOAMI
from canton.cli.output.empty_lists import say_without_role
from canton.cli.output.formats import Show, as_json, as_yaml, write
from canton.cli.output.table import cell
from canton.cli.output.terminal import say
from canton.cli.session.session import Session

FORBIDDEN = 4


@click.command(epilog="\b\nExample:\n  canton whoami -o json")
@output_options(WHOAMI)
@session_options
def whoami(session: Session, show: Show) -> None:
    """Show your identity on the server, and your roles."""
    me = session.client.whoami()
    show.one(WHOAMI, me)
    if show.for_people:
        click.echo()
        if me["bindings"]:
            show.listing(OWN_ROLE, me["bindings"])
        say_without_role(me)
        if me["expires_at"] and session.renews_itself:
            say("canton: the login renews itself when its token expires, as long as the issuer allows it")


@click.command("can-i", epilog="\b\nExample:\n  canton can-i tenant delete --tenant psi && echo yes")
@click.argument("noun")
@click.argument("verb")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), help="The output format; default: table.")
@click.option("-q", "--quiet", is_flag=True, help="Only the exit code.")
@session_options
def can_i(session: Session, noun: str, verb: str, output: str | None, quiet: bool) -> None:
    """Show whether you may do something, and the rule that decides it.

    Exit code 0 means yes, 4 means no.
    """
    from canton.cli.main import COMMANDS  # noqa: PLC0415

    singular = noun[:-1] if noun.endswith("s") and noun[:-1] in COMMANDS else noun
    decision = session.client.roles.can_i(f"{singular}.{verb}")
    output_format = output or session.output
    if not quiet:
        answer = (
            f"{'yes' if decision['allowed'] else 'no'}: {cell(decision['reason'])} (rule {cell(decision['rule'])})\n"
        )
        texts = {"json": lambda: as_json(decision, indent=2) + "\n", "yaml": lambda: as_yaml(decision)}
        write(texts[output_format]() if output_format in texts else answer)
    if not decision["allowed"]:
        raise click.exceptions.Exit(FORBIDDEN)
