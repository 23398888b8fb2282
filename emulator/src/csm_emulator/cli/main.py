"""The command ``csm-emulator``: the table of its commands, and how errors are printed."""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from importlib import import_module

import click

from csm_emulator import __version__

START = "start"
COMMANDS = {
    START: ("csm_emulator.cli.start:start", "Run a machine (`csm-emulator psi` is `csm-emulator start psi`)"),
    "status": ("csm_emulator.cli.control_commands:status", "Show machine, time, nodes, services and faults"),
    "fault": ("csm_emulator.cli.control_commands:fault", "Inject faults, list and clear them"),
    "clock": ("csm_emulator.cli.control_commands:clock", "Show virtual time, set its speed, move it forward"),
    "probe": (
        "csm_emulator.cli.control_commands:probe",
        "Test which nodes reach each other over the high-speed network",
    ),
    "console": ("csm_emulator.cli.console_commands:console", "Print the output of a node's console"),
    "pods": ("csm_emulator.cli.console_commands:pods", "List the pods of the management cluster"),
    "pod-log": ("csm_emulator.cli.console_commands:pod_log", "Print the log of a container, such as an Ansible run"),
    "log": ("csm_emulator.cli.control_commands:log", "Print what really happened, with causes"),
    "save": ("csm_emulator.cli.control_commands:save", "Save the whole state to a file"),
    "load": ("csm_emulator.cli.control_commands:load", "Load a saved state"),
}
INTERRUPTED = 130  # as a shell reports a process that SIGINT ended
BROKEN_PIPE = 141  # as a shell reports a process that SIGPIPE ended
# Characters that a terminal would act on. A topology file or a console may hold them.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069]")


class Commands(click.Group):
    """Imports a command's module only when it runs. ``csm-emulator psi`` is ``csm-emulator start psi``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in COMMANDS and args[0] not in ("-h", "--help", "--version"):
            args = [START, *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 (Click calls it so)
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name][0].split(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="\b\nExamples:\n  csm-emulator psi\n  csm-emulator tiny --port 0 --json --services\n"
    "  csm-emulator status\n  csm-emulator fault set no-power-on x1000c0s0b0n0\n  csm-emulator clock speed 100",
)
@click.version_option(__version__, message="csm-emulator %(version)s")
def root() -> None:
    """Run an emulated HPE Cray EX with the APIs of CSM, and control it while it runs."""


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        status = root.main(prog_name="csm-emulator", standalone_mode=False)
        sys.stdout.flush()
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except click.UsageError as error:
        return _explain_usage(error)
    except BrokenPipeError:  # a reader such as head has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except Exception as error:  # noqa: BLE001 (the edge: nothing above could handle it)
        return _explain(error)
    return status if isinstance(status, int) else 0


def _explain_usage(error: click.UsageError) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
    else:
        command = error.ctx.command_path if error.ctx else "csm-emulator"
        _print_error(f"{error.format_message()}\nTry: {command} --help")
    return error.exit_code


def _explain(error: Exception) -> int:
    from csm_emulator.errors import EmulatorError  # noqa: PLC0415 (keeps --help light)

    if os.environ.get("CSM_EMULATOR_DEBUG"):
        import traceback  # noqa: PLC0415

        traceback.print_exception(error)
    if isinstance(error, EmulatorError):
        _print_error(error.message)
        return error.exit_code
    if isinstance(error, click.ClickException):
        _print_error(error.format_message())
        return error.exit_code
    text = " ".join(str(error).split())
    _print_error(f"unexpected {type(error).__name__}: {text}; set CSM_EMULATOR_DEBUG=1 for the traceback")
    return 1


def _print_error(message: str) -> None:
    with suppress(OSError):  # standard error is closed: only the exit code tells of the error
        click.echo(f"csm-emulator: {_CONTROLS.sub('?', message)}", err=True)
