"""``csm-emulator psi``: run a machine until Ctrl-C or SIGTERM."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import uvloop

from csm_emulator.cli import running_instances
from csm_emulator.errors import InvalidMachine
from csm_emulator.machine_choice import DEFAULT, MachineRequest
from csm_emulator.server import LOOPBACK, ReadyInfo, ServeOptions, serve
from csm_emulator.state.clock import FASTEST

EARLIEST, LATEST = 1971, 2999


@click.command(
    epilog="\b\nExamples:\n  csm-emulator psi\n  csm-emulator start alps --speed 100\n"
    "  csm-emulator dumpstate.json --state machine.state\n  csm-emulator tiny --port 0 --json --services"
)
@click.argument("topology", required=False)
@click.option("--host", default=LOOPBACK, show_default=True, help="Address on which the gateway listens.")
@click.option(
    "--port",
    default=8443,
    show_default=True,
    type=click.IntRange(0, 65532),
    help="Port of the gateway; the next three are for Kubernetes, S3 and Vault. 0 uses free ports.",
)
@click.option("--plain", is_flag=True, help="Serve plain HTTP instead of TLS.")
@click.option(
    "--services", is_flag=True, help="Also open a loopback listener for each service, without gateway and tokens."
)
@click.option(
    "--speed",
    type=click.FloatRange(0, FASTEST),
    help="Speed of virtual time; 0 stops it, `clock step` moves it.  [default: 1]",
)
@click.option("--seed", type=int, help="Seed of timings, serial numbers and passwords.  [default: 1]")
@click.option("--begin", metavar="TIME", help="Start of virtual time, such as 2026-01-31T12:00:00Z.  [default: now]")
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the machine's state in this file, and continue from it. Without it, the state is lost at the end.",
)
@click.option("--json", "as_json", is_flag=True, help="When ready, print one line of JSON only.")
def start(topology: str | None, begin: str | None, state: Path | None, as_json: bool, **serve_options: object) -> None:
    """Run the machine TOPOLOGY: a name, or a file with an SLS dump.

    Names: tiny (8 compute nodes), psi (288, several institutions), alps-mini (1,015), alps (10,000), empty.
    Ctrl-C or SIGTERM stops it.
    """
    logging.basicConfig(format="csm-emulator: %(message)s", stream=sys.stderr, level=logging.WARNING)
    if shutil.which("git") is None:
        logging.warning("git is not installed: VCS answers 500 and CFS cannot read playbooks; install git")
    seed, speed = serve_options.pop("seed"), serve_options.pop("speed")
    if speed is not None and math.isnan(speed):  # type: ignore[arg-type]
        raise InvalidMachine("--speed must be a number, not nan")
    if topology is None and state is None:
        topology = DEFAULT
    with _state_path(state) as state_path, running_instances.registered() as register:
        request = MachineRequest(topology, seed, speed, _moment(begin), _hint(topology))  # type: ignore[arg-type]
        options = ServeOptions(state_path, request, **serve_options)  # type: ignore[arg-type]

        def announce(ready: ReadyInfo) -> None:
            register(ready.machine, ready.control)
            click.echo(as_line(ready) if as_json else as_text(ready))

        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(options, announce))


def _hint(topology: str | None) -> str:
    """A suggestion for a mistyped command: ``csm-emulator statsu`` is read as a topology of that name."""
    parent = click.get_current_context().parent
    commands = parent.command.list_commands(parent) if parent and isinstance(parent.command, click.Group) else []
    similar = get_close_matches(topology or "", commands, 1)
    return f"; did you mean `{parent.command_path} {similar[0]}`?" if parent and similar else ""


@contextmanager
def _state_path(state: Path | None) -> Iterator[Path]:
    if state is not None:
        yield state
        return
    with TemporaryDirectory(prefix="csm-emulator-") as folder:
        yield Path(folder) / "state"


def _moment(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise InvalidMachine(f"--begin must be a time such as 2026-01-31T12:00:00Z, not {text!r}") from error
    if not EARLIEST <= moment.year <= LATEST:
        raise InvalidMachine(f"--begin must be in the years {EARLIEST} to {LATEST}, not {moment.year}")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def as_line(ready: ReadyInfo) -> str:
    """The ready message for programs: one JSON object on one line."""
    return json.dumps(
        {
            "machine": ready.machine,
            "url": ready.url,
            "ca": str(ready.ca) if ready.ca else None,
            "users": [asdict(user) for user in ready.users],
            "clients": {client.id: client.secret for client in ready.clients},
            "services": ready.services,
            "control": ready.control,
            "addresses": ready.addresses,
            "kubeconfig": str(ready.kubeconfig),
            "vcs": {"user": ready.vcs[0], "password": ready.vcs[1]},
            "node_password": ready.node_password,
        }
    )


def as_text(ready: ReadyInfo) -> str:
    """The ready message for people: addresses, users with passwords, and commands to try."""
    width = max(len(user.username) for user in ready.users)
    users = [f"  {user.username:<{width}}  {user.password}  {', '.join(user.roles)}" for user in ready.users]
    services = [f"  {name:<{width}}  {url}" for name, url in ready.services.items()]
    outside = [f"{name:<12}  {url}" for name, url in ready.addresses.items()]
    return "\n".join(
        [
            f"{ready.machine}: {ready.about} ({ready.nodes} nodes)",
            f"gateway       {ready.url}",
            f"CA            {ready.ca or 'none: plain HTTP'}",
            *outside,
            f"kubeconfig    {ready.kubeconfig}",
            f"control API   {ready.control}",
            *(["services, without gateway:", *services] if services else []),
            "users, passwords and roles:",
            *users,
            f"  {ready.vcs[0]:<{width}}  {ready.vcs[1]}  git at {ready.url}/vcs",
            f"  {'root':<{width}}  {ready.node_password}  the nodes' consoles",
            "try:",
            *(f"  {line}" for line in curl_lines(ready)),
            "Ctrl-C stops it.",
        ]
    )


def curl_lines(ready: ReadyInfo) -> list[str]:
    admin = ready.users[0]
    trust = f"--cacert {ready.ca} " if ready.ca else ""
    token = f"{ready.url}/keycloak/realms/shasta/protocol/openid-connect/token"
    return [
        f"TOKEN=$(curl -s {trust}-d grant_type=password -d client_id=shasta -d username={admin.username}"
        f' -d password={admin.password} {token} | sed \'s/.*"access_token":"\\([^"]*\\).*/\\1/\')',
        f'curl -s {trust}-H "Authorization: Bearer $TOKEN" "{ready.url}/apis/smd/hsm/v2/State/Components?type=Node"',
        f'curl -s {trust}-H "Authorization: Bearer $TOKEN" "{ready.url}/apis/power-control/v1/power-status"',
    ]
