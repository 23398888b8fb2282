"""Options that many commands have, each group of them handed to the command as one object."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import click

from canton.cli.output.formats import FORMATS, Shape, Show
from canton.cli.session.session import Session
from canton.domain.errors import ReasonRequired

if TYPE_CHECKING:
    from datetime import datetime

    from click.shell_completion import CompletionItem

F = TypeVar("F", bound=Callable[..., Any])
Decorator: TypeAlias = Callable[[Any], Any]
"""Click's own have no narrower type."""

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class Changing(NamedTuple):
    """What goes with a change."""

    reason: str | None = None
    yes: bool = False
    approval: str | None = None
    wait_approval: bool = False


class Work(NamedTuple):
    """How to deal with work that takes time."""

    dry_run: bool = False
    plan: str | None = None
    wait: bool | None = None
    timeout: float | None = None


class Duration(click.ParamType[float]):
    """``90``, ``90s``, ``5m``, ``8h``, ``2d``: seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = re.fullmatch(r"([0-9]{1,9})([smhdw]?)", str(value).strip())
        if found is None:
            self.fail(f"{value!r} is not a duration; write 90s, 5m, 8h or 2d", param, ctx)
        return float(int(found[1]) * _UNITS[found[2]])


class Instant(click.ParamType[str]):
    """A duration from now, or an instant with its zone; as the API writes instants."""

    name = "instant"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from datetime import datetime  # noqa: PLC0415 (few commands take one)

        text = str(value).strip()
        if re.fullmatch(r"[0-9]+[smhdw]", text):
            return _written(datetime.now(UTC) + timedelta(seconds=Duration().convert(text, param, ctx)))
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is not a time; write 8h, 2d or 2027-01-31T18:00:00Z", param, ctx)
        if len(text) == len("2027-01-31"):
            self.fail(f"{text!r} has no time of day; write {text}T18:00Z, in UTC", param, ctx)
        if instant.tzinfo is None:
            self.fail(f"{text!r} has no time zone; end it with Z for UTC", param, ctx)
        return _written(instant.astimezone(UTC))


class Past(click.ParamType[str]):
    """A duration before now, a day, or an instant with its zone; as the API writes instants."""

    name = "past"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from datetime import datetime  # noqa: PLC0415 (few commands take one)

        text = str(value).strip()
        if re.fullmatch(r"[0-9]+[smhdw]", text):
            return _written(datetime.now(UTC) - timedelta(seconds=Duration().convert(text, param, ctx)))
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is not a time; write 1h, 2d, 2026-11-15 or 2026-11-15T18:00:00Z", param, ctx)
        if instant.tzinfo is None and len(text) > len("2026-11-15"):
            self.fail(f"{text!r} has no time zone; end it with Z for UTC", param, ctx)
        return _written(instant.replace(tzinfo=instant.tzinfo or UTC).astimezone(UTC))


def since_option(function: F) -> F:
    """``since``: only what happened from then on."""
    text = "Only from then on: 1h, 2d, 2026-11-15 (in UTC) or 2026-11-15T18:00:00Z."
    return click.option("--since", type=Past(), metavar="WHEN", help=text)(function)


def _written(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def bundle(name: str, options: Sequence[Decorator], make: Callable[[dict[str, Any]], object]) -> Callable[[F], F]:
    """A decorator that adds options and hands them over as the argument ``name``."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run(*arguments: Any, **given: Any) -> Any:
            taken = {key: given.pop(key) for key in keys}
            return function(*arguments, **{name: make(taken)}, **given)

        before = {param.name for param in getattr(run, "__click_params__", [])}
        decorated: Any = run
        for option in reversed(options):
            decorated = option(decorated)
        keys = [param.name for param in decorated.__click_params__ if param.name not in before]
        return decorated  # type: ignore[no-any-return]

    return decorate


def names(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Completion with the names of things, asked from the server or its cached answer."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from canton.cli.commands.completion import resources  # noqa: PLC0415 (only a shell that completes pays)

        return resources(kind, ctx, incomplete)

    return complete


def connection_options() -> list[Decorator]:
    return [
        click.option(
            "--context",
            metavar="NAME",
            shell_complete=names("contexts"),
            help="The context to use; also CANTON_CONTEXT.",
        ),
        click.option("--server", metavar="URL", help="The server; also CANTON_SERVER."),
        click.option(
            "--tenant", metavar="TENANT", shell_complete=names("tenants"), help="The tenant; also CANTON_TENANT."
        ),
        click.option("-v", "--verbose", count=True, help="Say each request and its id; -vv with headers."),
        click.option("--debug", is_flag=True, help="Say each request as a curl line, secrets cut."),
    ]


def session_of(given: dict[str, Any]) -> Session:
    """What was given after the command, else what was given before it."""
    context = click.get_current_context()
    early = context.find_root().obj or {}
    session = Session({**early, **{key: value for key, value in given.items() if value}}, early.get("format"))
    context.call_on_close(session.close)
    return session


def connected(function: F) -> F:
    """``session``: whom to talk to."""

    @functools.wraps(function)
    def run(*arguments: Any, session: Session, **given: Any) -> Any:
        from canton.cli.session.refusals import explained  # noqa: PLC0415 (help needs none of it)

        with explained(session):
            return function(*arguments, session=session, **given)

    decorated: Any = bundle("session", connection_options(), session_of)(run)
    return decorated  # type: ignore[no-any-return]


def shown(shape: Shape, *, many: bool = False) -> Callable[[F], F]:
    """``show``: how to print a noun."""
    columns = ", ".join(column.name for column in shape.columns)
    options: list[Decorator] = [
        click.option("-o", "--output", "format", type=click.Choice(FORMATS), help="The format; table if not given."),
        click.option("-c", "--columns", metavar="NAMES", help=f"Only these columns, comma between: {columns}."),
        click.option("-q", "--quiet", is_flag=True, help="Only ids, one on a line."),
    ]
    if many:
        options.append(click.option("--no-headers", is_flag=True, help="No line with the names of the columns."))
    return bundle("show", options, lambda given: _show(shape, given))


def _show(shape: Shape, given: dict[str, Any]) -> Show:
    early = (click.get_current_context().find_root().obj or {}).get("format")
    if early and early not in FORMATS:
        raise click.BadParameter(f"{early!r} is not one of {', '.join(FORMATS)}.", param_hint="'-o'")
    wanted = tuple(name.strip() for name in (given["columns"] or "").split(",") if name.strip())
    for name in wanted:
        shape.column(name)
    return Show(given["format"] or early or "table", wanted, not given.get("no_headers"), given["quiet"])


SUBJECTS = "written as the column SUBJECT has it: op_…, tenant:psi, site:alps; for a node, see `operation list --node`"


def limited(function: F) -> F:
    """``limit``: how many of a list."""
    option = click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show at most N rows.")
    return option(function)


def sorted_by(*fields: str) -> Callable[[F], F]:
    """``sort``: one of the fields, a dash before it for the other way round."""
    known = [*fields, *(f"-{field}" for field in fields)]
    return click.option(
        "--sort",
        type=click.Choice(known),
        metavar="FIELD",
        help=f"By {', '.join(fields)}; -{fields[0]} turns it round.",
    )


def all_tenants(function: F) -> F:
    """``-A``: whatever tenant the context names. It is the session's business and no argument of the command."""

    def keep(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
        root = ctx.find_root()
        root.obj = {**(root.obj or {}), "all_tenants": value}

    option = click.option(
        "-A",
        "--all-tenants",
        is_flag=True,
        expose_value=False,
        is_eager=True,
        callback=keep,
        help="Of every tenant, whatever the context names.",
    )
    return option(function)


def changing(function: F) -> F:
    """``change``: reason, confirmation and approval."""
    return bundle("change", _change_options(""), lambda given: Changing(**given))(function)


def changing_with_reason(function: F) -> F:
    """``change`` of a command that the server refuses without a reason: so does this, before it asks anything."""
    return bundle("change", _change_options("  [required]"), _with_reason)(function)


def _with_reason(given: dict[str, Any]) -> Changing:
    context = click.get_current_context()
    if not (given["reason"] or "").strip() and not context.params.get("dry_run"):
        command = context.command_path.removeprefix("canton ")
        raise ReasonRequired(f"{command} needs a reason: add --reason '…'")
    return Changing(**given)


def _change_options(mark: str) -> list[Decorator]:
    return [
        click.option("--reason", metavar="TEXT", help=f"Why; it is kept in the audit.{mark}"),
        click.option("-y", "--yes", is_flag=True, help="Do not ask."),
        click.option("--approval", metavar="ID", help="The approval that a second person gave."),
        click.option("--wait-approval", is_flag=True, help="If a second person is needed, wait for them."),
    ]


def working(function: F) -> F:
    """``work``: dry run, reviewed plan, waiting."""
    options: list[Decorator] = [
        click.option("--dry-run", is_flag=True, help="Only show the plan, with its digest."),
        click.option("--plan", metavar="DIGEST", help="Do exactly what this plan says, or nothing."),
    ]
    return bundle("work", [*options, *_waiting_options()], lambda given: Work(**given))(function)


def waiting(function: F) -> F:
    """``work``: waiting alone."""
    return bundle("work", _waiting_options(), lambda given: Work(**given))(function)


def _waiting_options() -> list[Decorator]:
    return [
        click.option(
            "--wait/--no-wait", default=None, help="Follow the work to its end; on a terminal that is the default."
        ),
        click.option("--timeout", type=Duration(), metavar="TIME", help="Stop waiting after 90s, 5m, 2h; exit code 6."),
    ]
