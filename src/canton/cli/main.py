"""The command ``canton``: the table of its commands, and what a failure looks like."""

from __future__ import annotations

import os
import re
import sys

import click

from canton import __version__
from canton.cli.lazy import Entry, LazyGroup
from canton.cli.output.standard_output import discard, guarded_output

MAX_SUGGESTED_NOUNS = 3
INTERRUPTED = 130  # as a shell reports a process that SIGINT ended

COMMANDS = {
    "login": Entry("canton.cli.commands.login:login", "Log in to a server", "You"),
    "logout": Entry("canton.cli.commands.login:logout", "Delete the stored login", "You"),
    "whoami": Entry("canton.cli.commands.whoami:whoami", "Your identity on the server, and your roles", "You"),
    "can-i": Entry("canton.cli.commands.whoami:can_i", "Show whether you may do something, and why", "You"),
    "context": Entry("canton.cli.commands.context:context", "Named servers and tenants, and the current one", "You"),
    "node": Entry("canton.cli.commands.node:node", "List, import, power, assign, release, maintenance", "The machine"),
    "site": Entry("canton.cli.commands.site:site", "Create, list and delete sites", "The machine"),
    "operation": Entry(
        "canton.cli.commands.operation:operation", "Follow operations, retry, undo, abandon, cancel", "The machine"
    ),
    "plan": Entry("canton.cli.commands.plan:plan", "List and show plans, with every step", "The machine"),
    "event": Entry("canton.cli.commands.event:event", "List past events and follow new ones", "The machine"),
    "tenant": Entry("canton.cli.commands.tenant:tenant", "Create, suspend and delete tenants", "Tenants and people"),
    "member": Entry("canton.cli.commands.member:member", "Who has which role", "Tenants and people"),
    "role": Entry("canton.cli.commands.role:role", "What each role may do", "Tenants and people"),
    "quota": Entry("canton.cli.commands.quota:quota", "Show and set the limits of a tenant", "Tenants and people"),
    "approval": Entry(
        "canton.cli.commands.approval:approval",
        "Approve or refuse changes that need a second person",
        "Tenants and people",
    ),
    "service-account": Entry(
        "canton.cli.commands.service_account:service_account", "Accounts and tokens for programs", "Tenants and people"
    ),
    "audit": Entry("canton.cli.commands.audit:audit", "Who did what, and why", "Tenants and people"),
    "apply": Entry("canton.cli.commands.apply:apply", "Change the server to match a file", "From a file"),
    "diff": Entry("canton.cli.commands.apply:diff", "What apply would change", "From a file"),
    "export": Entry("canton.cli.commands.apply:export", "Write the server's state as a file for apply", "From a file"),
    "version": Entry("canton.cli.commands.version:version", "The version of this command and of the server", "Offline"),
    "help": Entry("canton.cli.commands.version:show_help", "The help of a command", "Offline"),
    "emulate": Entry(
        "canton.cli.commands.emulate:emulate", "Run an emulated supercomputer to try things on", "Offline"
    ),
    "nodeset": Entry("canton.cli.commands.nodeset:nodeset", "Fold, expand and count sets of nodes", "Offline"),
    "completion": Entry("canton.cli.commands.completion:completion", "Completion for bash, zsh and fish", "Offline"),
    "manual": Entry("canton.cli.commands.manual:manual", "The manual page of a command", "Offline"),
    "serve": Entry("canton.admin.serve:serve", "Run the API server", "On the server"),
    "worker": Entry("canton.admin.worker:worker", "Run a worker, which carries out operations", "On the server"),
    "settings": Entry(
        "canton.admin.settings:settings", "Show every setting, its value and its source", "On the server"
    ),
    "admin": Entry(
        "canton.admin.first_administrator:admin", "Add the first administrator; hash passwords", "On the server"
    ),
    "db": Entry("canton.admin.db:db", "Create, upgrade, check and back up the database", "On the server"),
}

NUMBER_MESSAGES = {
    r"is not a valid integer( range)?\.$": "is not a whole number.",
    r"is not a valid float( range)?\.$": "is not a number.",
    r"is not in the range x>=([0-9.]+)\.$": r"is less than \1.",
    r"is not in the range ([0-9.]+)<=x<=([0-9.]+)\.$": r"is not between \1 and \2.",
}

# Verbs of other tools, which put the verb first, and ours.
VERBS = {"get": "list", "list": "list", "describe": "show", "show": "show", "create": "create", "delete": "delete"}


class Root(LazyGroup):
    """Commands are singular nouns. Plural nouns (``nodes``) and a verb before its noun (``get nodes``) work too."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, _singular(cmd_name) or cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        words = args if ctx.resilient_parsing else _noun_first(args)
        if not ctx.resilient_parsing and self.get_command(ctx, words[0]) is None:
            _explain_verb(self, ctx, words)
            if words[0] in VERBS and len(words) > 1 and not words[1].startswith("-"):
                words = words[1:]  # the noun is what is not known
        return super().resolve_command(ctx, words)


def _singular(name: str) -> str | None:
    """The noun that a plural stands for."""
    return name[:-1] if name.endswith("s") and name not in COMMANDS and name[:-1] in COMMANDS else None


def _noun_first(args: list[str]) -> list[str]:
    """``get nodes`` as ``node list``, ``get node x1`` as ``node show x1``; says so."""
    noun = (_singular(args[1]) or args[1]) if len(args) > 1 else ""
    if args[0] not in VERBS or noun not in COMMANDS:
        return args
    has_name = len(args) > 2 and not args[2].startswith("-")
    verb = "show" if args[0] == "get" and has_name else VERBS[args[0]]
    _say(f"the noun comes first here: canton {' '.join([noun, verb, *args[2:]])}")
    return [noun, verb, *args[2:]]


def _explain_verb(group: Root, ctx: click.Context, words: list[str]) -> None:
    """Raise if the first word is no command, and a verb of a noun or a few."""
    nouns = []
    for name, entry in group.table.items():
        noun = group.get_command(ctx, name) if entry.target.startswith("canton.cli.") and name != "emulate" else None
        if isinstance(noun, click.Group) and words[0] in noun.commands:
            nouns.append(name)
    if 0 < len(nouns) <= MAX_SUGGESTED_NOUNS:
        import shlex  # noqa: PLC0415 (only mistakes pay)

        lines = " or ".join(f"canton {noun} {shlex.join(words)}" for noun in nouns)
        raise click.UsageError(f"The noun comes first here: {lines}", ctx)


@click.group(
    cls=Root,
    table=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n"
    "  canton login --server https://canton.example.org\n"
    "  canton node list --selector state=free\n"
    "  canton node power off 'x1000c0s0b0n[0-3]' --reason 'ticket 17' --dry-run\n"
    "  canton node assign 'x1000c0s0b0n[0-3]' --tenant psi --reason 'contract 42'\n"
    "  canton can-i tenant delete --tenant psi\n"
    "\b\nExit codes:\n"
    "  0 ok   1 failed   2 usage   3 not found   4 not logged in or forbidden\n"
    "  5 conflict   6 time-out while waiting (the work goes on)   7 partial\n"
    "  8 unreachable   130 interrupted   141 output pipe closed by its reader\n",
)
@click.version_option(__version__, message="canton %(version)s")
@click.option("--context", metavar="NAME", help="The context to use; also CANTON_CONTEXT.")
@click.option("--server", metavar="URL", help="The address of the server; also CANTON_SERVER.")
@click.option("--tenant", metavar="TENANT", help="The tenant to use; also CANTON_TENANT.")
@click.option("-o", "--output", "format", metavar="FORMAT", help="table, wide, json, yaml, name or csv.")
@click.option(
    "-v", "--verbose", count=True, help="Log each request and its id to standard error; -vv also its headers."
)
@click.option("--debug", is_flag=True, help="Log each request as a curl command, without secrets.")
@click.pass_context
def root(ctx: click.Context, /, **options: object) -> None:
    """Hand parts of one supercomputer to other institutions.

    \b
    Commands are a noun and a verb:  canton node list, canton tenant show psi.
    Data goes to standard output, everything else to standard error.
    """
    ctx.obj = options


def main() -> int:
    """Run the command line; the answer is the exit code."""
    try:
        with guarded_output():
            status = root.main(prog_name="canton", standalone_mode=False)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.UsageError as error:
        return _explain_usage(error)
    except Exception as error:  # noqa: BLE001 (the edge: nothing above could handle it)
        return _explain(error)
    return status if isinstance(status, int) else 0


def _plain_numbers(message: str) -> str:
    """Click's message about a number, without its notation of ranges."""
    for pattern, words in NUMBER_MESSAGES.items():
        message = re.sub(pattern, words, message)
    return message


def _explain_usage(error: click.UsageError) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    else:
        command = error.ctx.command_path if error.ctx else _command_path(sys.argv[1:])
        _say(f"{_plain_numbers(error.format_message())}{_commands(error)}\nTry: {command} --help")
    return error.exit_code


def _commands(error: click.UsageError) -> str:
    """The commands of a group, for the message about a word that is not similar to any of them."""
    context = error.ctx
    if context is None or not isinstance(error, click.exceptions.NoSuchCommand) or error.possibilities:
        return ""
    group = context.command
    if group is root or not isinstance(group, click.Group):
        return ""
    return f" There are: {', '.join(group.list_commands(context))}."


def _command_path(arguments: list[str]) -> str:
    """The command that the arguments name, for a mistake that Click does not connect with one."""
    step = click.Context(root, info_name="canton")
    for word in arguments:
        inner = step.command.get_command(step, word) if isinstance(step.command, click.Group) else None
        if inner is not None:
            step = click.Context(inner, info_name=inner.name, parent=step)
    return step.command_path


def _explain(error: Exception) -> int:
    from canton.domain.errors import CantonError  # noqa: PLC0415 (keeps --help light)

    if os.environ.get("CANTON_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    if isinstance(error, CantonError):
        request = getattr(error, "request", "")
        _say(f"{error.message} [request {request}]" if request and sys.stderr.isatty() else error.with_cause)
        return error.exit_code
    if isinstance(error, click.ClickException):
        if error.message:
            _say(error.format_message())
        return error.exit_code
    message = " ".join(str(error).split())
    _say(f"unexpected {type(error).__name__}: {message}; set CANTON_DEBUG=1 to see the traceback")
    return 1


def _say(message: str) -> None:
    from canton.domain.terminal_text import harmless  # noqa: PLC0415 (keeps --help light)

    try:
        click.echo(f"canton: {harmless(message)}", err=True)
    except OSError:  # then the exit code alone has to say it
        discard(sys.stderr)
