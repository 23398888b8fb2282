"""``csm-emulator console``, ``pods`` and ``pod-log``: consoles and logs without conman and kubectl."""

from __future__ import annotations

import time
from collections.abc import Sequence
from urllib.parse import urlencode

import click

from csm_emulator.cli.control_commands import ask, control_option, json_option, show

LOOK_EVERY = 0.2

follow_option = click.option("--follow", "-f", is_flag=True, help="Keep printing new output until Ctrl-C.")


@click.command(
    epilog="\b\nExamples:\n  csm-emulator console x1000c0s0b0n0\n  csm-emulator console x1000c0s0b0n0 --lines 5 -f"
)
@click.argument("node")
@click.option(
    "--lines", type=click.IntRange(0), default=40, show_default=True, help="Print the last N lines.", metavar="N"
)
@follow_option
@control_option
def console(node: str, lines: int, follow: bool, control: str | None) -> None:
    """Print the output of NODE's serial console."""
    response = ask(control, "GET", f"/console?{urlencode({'xname': node, 'lines': lines})}")
    click.echo(_plain(response["text"]), nl=not follow)
    while follow:
        time.sleep(LOOK_EVERY)
        response = ask(control, "GET", f"/console?{urlencode({'xname': node, 'after': response['position']})}")
        click.echo(_plain(response["text"]), nl=False)


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


@click.command(epilog="\b\nExample:\n  csm-emulator pods --namespace services")
@click.option("--namespace", default="", help="Only pods in this namespace.")
@control_option
@json_option
def pods(namespace: str, control: str | None, as_json: bool) -> None:
    """List the pods of the management cluster: namespace, name, phase and containers."""
    pod_list = ask(control, "GET", f"/pods?{urlencode({'namespace': namespace})}")["pods"]
    rows = [(pod["namespace"], pod["name"], pod["phase"], ", ".join(pod["containers"])) for pod in pod_list]
    show(pod_list, _columns(rows) or ["no pods"], as_json=as_json)


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
    """Print the log of CONTAINER in POD. POD is a name, or a label such as cfsession=NAME.

    CONTAINER may be omitted if the pod has only one.
    """
    query = {"pod": pod, "container": container or ""}
    position = 0
    while True:
        response = ask(control, "GET", f"/pods/log?{urlencode({**query, 'after': position})}")
        for line in response["lines"]:
            click.echo(line)
        position = response["position"]
        if not follow or (response["over"] and not response["lines"]):
            return
        time.sleep(LOOK_EVERY)
