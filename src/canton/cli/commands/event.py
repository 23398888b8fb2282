"""``canton event``: list past events and follow new ones."""

from __future__ import annotations

import sys

import click

from canton.cli.input.options import (
    SUBJECT_HELP,
    all_tenants_option,
    limit_option,
    output_options,
    session_options,
    since_option,
)
from canton.cli.output.columns import EVENT
from canton.cli.output.empty_lists import explain_empty
from canton.cli.output.formats import Show, write
from canton.cli.output.terminal import say
from canton.cli.output.watch import line
from canton.cli.session.session import Session

subject_option = click.option("--subject", metavar="ID", help=f"Only about this, {SUBJECT_HELP}.")


@click.group(epilog="\b\nExamples:\n  canton event follow\n  canton event list --subject op_01J…")
def event() -> None:
    """List past events and follow new ones."""


@event.command("list", epilog="\b\nExamples:\n  canton event list --limit 20\n  canton event list --since 1h")
@subject_option
@since_option
@limit_option
@all_tenants_option
@output_options(EVENT, many=True)
@session_options
def list_events(session: Session, show: Show, subject: str | None, since: str | None, limit: int | None) -> None:
    """List events, the oldest first; with --limit N only the newest N."""
    events = explain_empty(
        session, session.client.events.list(subject=subject, since=since, newest=limit), session.tenant
    )
    # The events of one tenant come in order; those of several tenants come only roughly by time.
    show.listing(EVENT, sorted(events, key=lambda it: it["at"])[-limit:] if limit else events)


@event.command(
    "follow", epilog="\b\nExamples:\n  canton event follow -o json | jq .kind\n  canton event follow --since 10m"
)
@subject_option
@click.option("--after", metavar="ID", help="Start after this event id, or at 'start'; default: only new events.")
@since_option
@all_tenants_option
@output_options(EVENT)
@session_options
def follow_events(session: Session, show: Show, subject: str | None, after: str | None, since: str | None) -> None:
    """Print events as they happen, until Ctrl-C.

    With -o json each event is one line. After a lost connection it connects again; no event is lost or repeated.
    """
    import json  # noqa: PLC0415

    with session.client.events.stream(subject=subject, after=after, since=since) as stream:
        if sys.stderr.isatty() and not show.quiet:
            say("canton: waiting for events; Ctrl-C ends")
        for message in stream.messages():
            if message.kind == "canton.behind":
                say("canton: the server says that this reader is too slow; events come late")
            else:
                write(line(show, json.loads(message.data)))
