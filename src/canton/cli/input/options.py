"""Options that many commands have; each group of them reaches the command as one object."""

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
"""Click's own decorators have no narrower type."""

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


class ChangeOptions(NamedTuple):
    """The options of every command that changes something."""

    reason: str | None = None
    yes: bool = False
    approval: str | None = None
    wait_approval: bool = False


class WorkOptions(NamedTuple):
    """The options of commands that start an operation, or wait for one."""

    dry_run: bool = False
    plan: str | None = None
    wait: bool | None = None
    timeout: float | None = None


class Duration(click.ParamType[float]):
    """``90``, ``90s``, ``5m``, ``8h``, ``2d``: seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = re.fullmatch(r"([0-9]{1,9})([smhdw]?)", str(value).strip())
        if match is None:
            self.fail(f"{value!r} is not a duration; write 90s, 5m, 8h or 2d", param, ctx)
        return float(int(match[1]) * _UNITS[match[2]])


class Instant(click.ParamType[str]):
    """A duration from now, or an instant with its time zone; converted to the API's format."""

    name = "instant"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from datetime import datetime  # noqa: PLC0415 (few commands take one)

        text = str(value).strip()
        if re.fullmatch(r"[0-9]+[smhdw]", text):
            return _as_api_instant(datetime.now(UTC) + timedelta(seconds=Duration().convert(text, param, ctx)))
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is not a time; write 8h, 2d or 2027-01-31T18:00:00Z", param, ctx)
        if len(text) == len("2027-01-31"):
            self.fail(f"{text!r} has no time of day; write {text}T18:00Z, in UTC", param, ctx)
        if instant.tzinfo is None:
            self.fail(f"{text!r} has no time zone; end it with Z for UTC", param, ctx)
        return _as_api_instant(instant.astimezone(UTC))


class PastInstant(click.ParamType[str]):
    """A duration before now, a day, or an instant with its time zone; converted to the API's format."""

    name = "past"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from datetime import datetime  # noqa: PLC0415 (few commands take one)

        text = str(value).strip()
        if re.fullmatch(r"[0-9]+[smhdw]", text):
            return _as_api_instant(datetime.now(UTC) - timedelta(seconds=Duration().convert(text, param, ctx)))
        try:
            instant = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is not a time; write 1h, 2d, 2026-11-15 or 2026-11-15T18:00:00Z", param, ctx)
        if instant.tzinfo is None and len(text) > len("2026-11-15"):
            self.fail(f"{text!r} has no time zone; end it with Z for UTC", param, ctx)
        return _as_api_instant(instant.replace(tzinfo=instant.tzinfo or UTC).astimezone(UTC))


def since_option(function: F) -> F:
    """Adds ``--since``: only what happened from that instant on."""
    text = "Only from this time on: 1h or 2d ago, 2026-11-15 (in UTC) or 2026-11-15T18:00:00Z."
    return click.option("--since", type=PastInstant(), metavar="WHEN", help=text)(function)


def _as_api_instant(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def bundle_options(
    name: str, options: Sequence[Decorator], make: Callable[[dict[str, Any]], object]
) -> Callable[[F], F]:
    """A decorator that adds options and passes what ``make`` makes of them as the argument ``name``."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def run(*arguments: Any, **parameters: Any) -> Any:
            bundled = {key: parameters.pop(key) for key in keys}
            return function(*arguments, **{name: make(bundled)}, **parameters)

        own_names = {param.name for param in getattr(run, "__click_params__", [])}
        decorated: Any = run
        for option in reversed(options):
            decorated = option(decorated)
        keys = [param.name for param in decorated.__click_params__ if param.name not in own_names]
        return decorated  # type: ignore[no-any-return]

    return decorate


def complete_names(kind: str) -> Callable[[click.Context, click.Parameter, str], list[CompletionItem]]:
    """Completion with names of this kind, from the server or from its cached answer."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from canton.cli.commands.completion import resources  # noqa: PLC0415 (only a shell that completes pays)

        return resources(kind, ctx, incomplete)

    return complete


def connection_options() -> list[Decorator]:
    return [
        click.option(
            "--context",
            metavar="NAME",
            shell_complete=complete_names("contexts"),
            help="The context to use; also CANTON_CONTEXT.",
        ),
        click.option("--server", metavar="URL", help="The address of the server; also CANTON_SERVER."),
        click.option(
            "--tenant",
            metavar="TENANT",
            shell_complete=complete_names("tenants"),
            help="The tenant to use; also CANTON_TENANT.",
        ),
        click.option(
            "-v", "--verbose", count=True, help="Log each request and its id to standard error; -vv also its headers."
        ),
        click.option("--debug", is_flag=True, help="Log each request as a curl command, without secrets."),
    ]


def session_of(parameters: dict[str, Any]) -> Session:
    """The session of the options; an option after the command counts more than one before it."""
    context = click.get_current_context()
    early = context.find_root().obj or {}
    session = Session({**early, **{key: value for key, value in parameters.items() if value}}, early.get("format"))
    context.call_on_close(session.close)
    return session


def session_options(function: F) -> F:
    """Adds the connection options and passes a ``session``; errors name the options of the command line."""

    @functools.wraps(function)
    def run(*arguments: Any, session: Session, **parameters: Any) -> Any:
        from canton.cli.session.refusals import explain_refusals  # noqa: PLC0415 (help needs none of it)

        with explain_refusals(session):
            return function(*arguments, session=session, **parameters)

    decorated: Any = bundle_options("session", connection_options(), session_of)(run)
    return decorated  # type: ignore[no-any-return]


def output_options(shape: Shape, *, many: bool = False) -> Callable[[F], F]:
    """Adds the output options for a noun and passes a ``show``."""
    columns = ", ".join(column.name for column in shape.columns)
    options: list[Decorator] = [
        click.option("-o", "--output", "format", type=click.Choice(FORMATS), help="The output format; default: table."),
        click.option(
            "-c", "--columns", metavar="NAMES", help=f"Show only these columns, separated by commas: {columns}."
        ),
        click.option("-q", "--quiet", is_flag=True, help="Print only the ids, one per line."),
    ]
    if many:
        options.append(click.option("--no-headers", is_flag=True, help="Do not print the line of column names."))
    return bundle_options("show", options, lambda parameters: _make_show(shape, parameters))


def _make_show(shape: Shape, parameters: dict[str, Any]) -> Show:
    early = (click.get_current_context().find_root().obj or {}).get("format")
    if early and early not in FORMATS:
        raise click.BadParameter(f"{early!r} is not one of {', '.join(FORMATS)}.", param_hint="'-o'")
    columns = tuple(name.strip() for name in (parameters["columns"] or "").split(",") if name.strip())
    for name in columns:
        shape.column(name)
    return Show(
        parameters["format"] or early or "table", columns, not parameters.get("no_headers"), parameters["quiet"]
    )


SUBJECT_HELP = (
    "written as the column SUBJECT has it: op_…, tenant:psi, site:alps; for a node, see `operation list --node`"
)


def limit_option(function: F) -> F:
    """Adds ``--limit``."""
    option = click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Show at most N rows.")
    return option(function)


def sort_option(*fields: str) -> Callable[[F], F]:
    """Adds ``--sort``: one of the fields; with a dash before it in reverse order."""
    choices = [*fields, *(f"-{field}" for field in fields)]
    return click.option(
        "--sort",
        type=click.Choice(choices),
        metavar="FIELD",
        help=f"Sort by {' or '.join(fields)}; -{fields[0]} reverses the order.",
    )


def all_tenants_option(function: F) -> F:
    """Adds ``-A``. The session reads it; the command does not get it as an argument."""

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
        help="All tenants, even if the context names one.",
    )
    return option(function)


def change_options(function: F) -> F:
    """Adds the options for reason, confirmation and approval and passes a ``change``."""
    return bundle_options("change", _change_options(""), lambda parameters: ChangeOptions(**parameters))(function)


def change_options_with_reason(function: F) -> F:
    """As ``change_options``, and refuses a missing reason before any question, as the server would afterwards."""
    return bundle_options("change", _change_options("  [required]"), _require_reason)(function)


def _require_reason(parameters: dict[str, Any]) -> ChangeOptions:
    context = click.get_current_context()
    if not (parameters["reason"] or "").strip() and not context.params.get("dry_run"):
        command = context.command_path.removeprefix("canton ")
        raise ReasonRequired(f"{command} needs a reason: add --reason '…'")
    return ChangeOptions(**parameters)


def _change_options(mark: str) -> list[Decorator]:
    return [
        click.option("--reason", metavar="TEXT", help=f"The reason for the change, recorded in the audit log.{mark}"),
        click.option("-y", "--yes", is_flag=True, help="Do not ask for confirmation."),
        click.option("--approval", metavar="ID", help="The id of the approval that a second person gave."),
        click.option(
            "--wait-approval", is_flag=True, help="If a second person has to approve the change, wait until they did."
        ),
    ]


def work_options(function: F) -> F:
    """Adds the options for dry run, reviewed plan and waiting and passes a ``work``."""
    options: list[Decorator] = [
        click.option("--dry-run", is_flag=True, help="Only show the plan, with its digest."),
        click.option("--plan", metavar="DIGEST", help="Carry out exactly the plan with this digest, or nothing."),
    ]
    return bundle_options("work", [*options, *_waiting_options()], lambda parameters: WorkOptions(**parameters))(
        function
    )


def wait_options(function: F) -> F:
    """Adds only the options for waiting and passes a ``work``."""
    return bundle_options("work", _waiting_options(), lambda parameters: WorkOptions(**parameters))(function)


def _waiting_options() -> list[Decorator]:
    return [
        click.option(
            "--wait/--no-wait", default=None, help="Follow the operation until it ends; the default on a terminal."
        ),
        click.option(
            "--timeout",
            type=Duration(),
            metavar="TIME",
            help="Stop waiting after this time (90s, 5m, 2h); exit code 6.",
        ),
    ]
