"""``csm-emulator console|pods|pod-log``: look at what people of the site would look at with other tools."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlencode

import click

from csm_emulator.cli.control_commands import ask, control_option, json_option, show

LOOK_EVERY = 0.2

follow_option = click.option("--follow", "-f", is_flag=True, help="Go on showing what comes, until Ctrl-C.")


@click.command(
    epilog="\b\nExamples:\n  csm-emulator console x1000c0s0b0n0\n  csm-emulator console x1000c0s0b0n0 --lines 5 -f"
)
@click.argument("node")
@click.option("--lines", type=click.IntRange(0), default=40, show_default=True, help="How many of the last lines.")
@follow_option
@control_option
def console(node: str, lines: int, follow: bool, control: str | None) -> None:
    """Show what NODE wrote to its console."""
    told = ask(control, "GET", f"/console?{urlencode({'xname': node, 'lines': lines})}")
    click.echo(_plain(told["text"]), nl=not follow)
    while follow:
        time.sleep(LOOK_EVERY)
        told = ask(control, "GET", f"/console?{urlencode({'xname': node, 'after': told['position']})}")
        click.echo(_plain(told["text"]), nl=False)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


@click.command(epilog="\b\nExample:\n  csm-emulator pods --namespace services")
@click.option("--namespace", default="", help="Only those of this namespace.")
@control_option
@json_option
def pods(namespace: str, control: str | None, as_json: bool) -> None:
    """List the pods of the management cluster: namespace, name, phase and containers."""
    found = ask(control, "GET", f"/pods?{urlencode({'namespace': namespace})}")["pods"]
    rows = [(pod["namespace"], pod["name"], pod["phase"], ", ".join(pod["containers"])) for pod in found]
    show(found, _columns(rows) or ["no pods"], as_json=as_json)


def _columns(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]


@click.command(
    "pod-log",
    epilog="\b\nExamples:\n  csm-emulator pod-log cfsession=batcher-1 ansible\n"
    "  csm-emulator pod-log cray-console-node-0 --follow",
)
@click.argument("pod")
@click.argument("container", required=False)
@follow_option
@control_option
def pod_log(pod: str, container: str | None, follow: bool, control: str | None) -> None:
    """Show what CONTAINER of POD says; POD is a name, or a label with its value, as cfsession=NAME.

    A pod with one container needs no CONTAINER.
    """
    asked = {"pod": pod, "container": container or ""}
    position = 0
    while True:
        told = ask(control, "GET", f"/pods/log?{urlencode({**asked, 'after': position})}")
        for line in told["lines"]:
            click.echo(line)
        position = told["position"]
        if not follow or (told["over"] and not told["lines"]):
            return
        time.sleep(LOOK_EVERY)
