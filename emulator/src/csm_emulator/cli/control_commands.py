"""Commands on a running emulator, over its control API: status, faults, the clock, probes, the log, save and load."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, urlsplit

import click

from csm_emulator.cli import running_instances
from csm_emulator.errors import InvalidInput, InvalidMachine, NotFound, Unavailable
from csm_emulator.records import Json, Record

Function = TypeVar("Function", bound=Callable[..., object])
NO_LIMIT = 600.0
NOT_SENT = object()
_NEGATIVE = re.compile(r"-\.?[0-9].*")


def control_option(function: Function) -> Function:
    return click.option(
        "--control", metavar="URL", help=f"Control API of the emulator [env: {running_instances.ENVIRONMENT}]."
    )(function)


def json_option(function: Function) -> Function:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def ask(control: str | None, method: str, path: str, body: object = NOT_SENT) -> Json:
    """One request to the control API; an error response is raised as an ``EmulatorError``."""
    url = urlsplit(running_instances.find(control))
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=NO_LIMIT)
    try:
        connection.request(method, url.path + path, None if body is NOT_SENT else json.dumps(body))
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"the emulator at {url.netloc} does not answer: {error}; is it still running?") from error
    finally:
        connection.close()
    if answer.status >= 400:
        kinds = {400: InvalidMachine, 404: NotFound}
        raise kinds.get(answer.status, InvalidInput)(str(json.loads(text)["detail"]))
    return json.loads(text) if text else None


def show(value: object, lines: list[str], *, as_json: bool) -> None:
    click.echo(json.dumps(value, indent=2) if as_json else "\n".join(lines))


@click.command(epilog="\b\nExample:\n  csm-emulator status")
@control_option
@json_option
def status(control: str | None, as_json: bool) -> None:
    """Show machine, virtual time, nodes by boot stage, services and number of faults."""
    response = ask(control, "GET", "/status")
    stages = ", ".join(f"{count} {stage}" for stage, count in sorted(response["stages"].items()))
    show(
        response,
        [
            f"machine   {response['machine']}: {response['about']}",
            f"time      {_time(response['clock'])}",
            f"nodes     {response['nodes']} ({stages})",
            f"services  {', '.join(response['services'])}",
            f"faults    {len(response['faults'])}",
            f"log       {response['log']} entries",
            f"state     {response['state']}",
        ],
        as_json=as_json,
    )


def _time(clock: Record) -> str:
    speed = f"{clock['speed']:g} times real time" if clock["speed"] else "stopped"
    return f"{clock['now']}, {speed}"


@click.group(
    epilog="\b\nExamples:\n  csm-emulator fault kinds\n"
    "  csm-emulator fault set boot-hangs x1000c0s0b0n[0-1] stage=pxe\n"
    "  csm-emulator fault set server-error smd --next 3 status=502\n  csm-emulator fault clear f1"
)
def fault() -> None:
    """Inject faults into hardware, services and the network, list and clear them."""


@fault.command("kinds", epilog="\b\nExample:\n  csm-emulator fault kinds")
@control_option
def fault_kinds(control: str | None) -> None:
    """List the kinds of faults, and the parameters of each."""
    kinds = ask(control, "GET", "/faults")["kinds"]
    width = max(map(len, kinds))
    click.echo("\n".join(f"{kind:<{width}}  {description}" for kind, description in kinds.items()))


@fault.command("list", epilog="\b\nExample:\n  csm-emulator fault list")
@control_option
@json_option
def fault_list(control: str | None, as_json: bool) -> None:
    """List the faults that are set now."""
    faults = ask(control, "GET", "/faults")["faults"]
    show(faults, [_fault_line(entry) for entry in faults] or ["no faults"], as_json=as_json)


def _fault_line(fault: Record) -> str:
    remaining = "" if fault["remaining"] is None else f", {_times(fault['remaining'])}"
    probability = "" if fault["probability"] == 1 else f", with probability {fault['probability']:g}"
    return (
        f"{fault['id']}  {fault['kind']}  {fault['targets']}{_parameter_text(fault['facts'])}{remaining}{probability}"
    )


def _times(count: int) -> str:
    return "1 more time" if count == 1 else f"{count} more times"


def _parameter_text(facts: Record) -> str:
    return "".join(f" {name}={value}" for name, value in facts.items())


@fault.command(
    "set",
    epilog="\b\nExamples:\n  csm-emulator fault set no-power-on x1000c0s0b0n0\n"
    "  csm-emulator fault set lost-response pcs --next 1 method=POST",
)
@click.argument("kind")
@click.argument("targets")
@click.argument("facts", nargs=-1, metavar="[NAME=VALUE]...")
@click.option(
    "--probability",
    type=click.FloatRange(0, 1, min_open=True),
    default=1.0,
    help="Probability of each strike, above 0 and up to 1.  [default: 1]",
)
@click.option("--next", "remaining", type=click.IntRange(1), metavar="N", help="Strike only the next N times.")
@control_option
def fault_set(
    kind: str, targets: str, facts: tuple[str, ...], probability: float, remaining: int | None, control: str | None
) -> None:
    """Set a fault of KIND for TARGETS: xnames as a nodeset, or comma-separated services; `*` is all of them.

    `fault kinds` lists the kinds and the NAME=VALUE parameters that each takes.
    """
    body = {
        "kind": kind,
        "targets": targets,
        "probability": probability,
        "remaining": remaining,
        "facts": dict(map(_parameter, facts)),
    }
    click.echo(_fault_line(ask(control, "POST", "/faults", body)))


def _parameter(text: str) -> tuple[str, str]:
    """Name and value as texts; the emulator converts numbers, as it knows the parameters of each kind."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{text!r} is not NAME=VALUE; see `csm-emulator fault kinds`")
    return name, value


@fault.command("clear", epilog="\b\nExamples:\n  csm-emulator fault clear f1\n  csm-emulator fault clear --all")
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Clear all faults.")
@control_option
def fault_clear(ids: tuple[str, ...], everything: bool, control: str | None) -> None:
    """Clear the faults IDS and print them.

    Cables, controllers, disks and services work again. Effects that have already happened stay: a stuck session or
    job stays stuck, a hanging boot hangs until the next power cycle, a changed switch port stays changed.
    """
    if everything == bool(ids):
        raise click.UsageError("name the faults to clear, or use --all")
    if everything:
        cleared = ask(control, "DELETE", "/faults")["faults"]
        click.echo("\n".join(map(_fault_line, cleared)) or "no faults")
    for fault_id in ids:
        click.echo(_fault_line(ask(control, "DELETE", f"/faults/{quote(fault_id, safe='')}")))


@click.group(
    epilog="\b\nExamples:\n  csm-emulator clock show\n  csm-emulator clock speed 100\n  csm-emulator clock step 30"
)
def clock() -> None:
    """Show virtual time, set its speed, or move it forward."""


@clock.command("show", epilog="\b\nExample:\n  csm-emulator clock show")
@control_option
@json_option
def clock_show(control: str | None, as_json: bool) -> None:
    """Show virtual time and its speed."""
    response = ask(control, "GET", "/clock")
    show(response, [_time(response)], as_json=as_json)


class NonNegativeArgument(click.Command):
    """A command whose argument is not negative: Click would take -5 for an option, and report it as such."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        negative = next((arg for arg in args if _NEGATIVE.fullmatch(arg)), None)
        if negative is not None:
            raise click.UsageError(f"time only moves forward: use 0 or more, not {negative}", ctx)
        return super().parse_args(ctx, args)


@clock.command(
    "speed",
    cls=NonNegativeArgument,
    epilog="\b\nExamples:\n  csm-emulator clock speed 100\n  csm-emulator clock speed 0",
)
@click.argument("speed", type=click.FloatRange(0, 1000))
@control_option
def clock_speed(speed: float, control: str | None) -> None:
    """Run virtual time SPEED times as fast as real time, from 0 (stopped) to 1000."""
    click.echo(_time(ask(control, "PATCH", "/clock", {"speed": speed})))


@clock.command("step", cls=NonNegativeArgument, epilog="\b\nExample:\n  csm-emulator clock step 30")
@click.argument("seconds", type=click.FloatRange(0))
@control_option
def clock_step(seconds: float, control: str | None) -> None:
    """Move virtual time forward by SECONDS; everything due until then happens before the command returns."""
    click.echo(_time(ask(control, "POST", "/clock/step", {"seconds": seconds})))


@click.command(
    epilog="\b\nExamples:\n  csm-emulator probe x1000c0s0b0n0 x1000c0s1b0n0\n"
    "  csm-emulator probe x1000c0s0b0n[0-1] x1000c0s1b0n0 --vlan 100\n"
    "  csm-emulator probe x1000c0s0b0n0 x1000c0s1b0n0 --vni 1025"
)
@click.argument("from", metavar="FROM")
@click.argument("to", metavar="TO")
@click.option("--vlan", type=click.IntRange(0, 4095), help="Send frames tagged with this VLAN.  [default: untagged]")
@click.option("--vni", type=click.IntRange(1, 65535), help="Test RDMA with this VNI instead of Ethernet.")
@click.option("--ip", "over_ip", is_flag=True, help="Test with a ping instead: both nodes must be up.")
@control_option
@json_option
def probe(over_ip: bool, control: str | None, as_json: bool, **ends: Json) -> None:
    """Test which nodes of FROM reach which nodes of TO over the high-speed network.

    FROM and TO are nodesets of nodes or of their NICs. Frames follow the real state of the switch ports.
    """
    tagged, rdma = ends["vlan"] is not None, ends["vni"] is not None
    if rdma and (over_ip or tagged):
        raise click.UsageError("--vni cannot be combined with --vlan or --ip")
    kind = "vni" if rdma else "ip" if over_ip else "ethernet"
    response = ask(control, "POST", "/fabric/probe", {**ends, "kind": kind})
    counts = response["counts"]
    lines = [_pair_line(pair) for pair in response["pairs"]]
    show(response, [*lines, f"{counts['reached']} of {counts['pairs']} reached"], as_json=as_json)


def _pair_line(pair: Record) -> str:
    how = f" ({pair['leaves']})" if pair.get("leaves") else ""
    return f"{pair['from']} → {pair['to']}  {'reached' + how if pair['reached'] else 'not reached: ' + pair['why']}"


@click.command(epilog="\b\nExample:\n  csm-emulator log --after 100")
@click.option(
    "--after", type=click.IntRange(0), default=0, help="Only entries after entry N.  [default: 0]", metavar="N"
)
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=1000,
    help="Print at most N entries.  [default: 1000]",
    metavar="N",
)
@control_option
@json_option
def log(after: int, limit: int, control: str | None, as_json: bool) -> None:
    """Print the log of what really happened in the machine, oldest first, with causes."""
    entries = ask(control, "GET", f"/log?after={after}&limit={limit}")["entries"]
    show(entries, [_log_line(entry) for entry in entries], as_json=as_json)


def _log_line(entry: Record) -> str:
    standard_fields = ("number", "at", "what", "target", "cause", "fault")
    facts = _parameter_text({name: value for name, value in entry.items() if name not in standard_fields})
    if "fault" in entry:
        facts = f" {entry['fault']['kind']} {entry['fault']['id']}{_parameter_text(entry['fault']['facts'])}"
    return f"{entry['number']:>6}  {entry['at']}  {entry['what']}  {entry['target']}{facts}  ({entry['cause']})"


@click.command(epilog="\b\nExample:\n  csm-emulator save monday.state")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@control_option
def save(path: Path, control: str | None) -> None:
    """Save the whole state of the machine to the file PATH."""
    click.echo(f"saved as {ask(control, 'POST', '/save', {'path': str(path.absolute())})['path']}")


@click.command(epilog="\b\nExample:\n  csm-emulator load monday.state")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@control_option
def load(path: Path, control: str | None) -> None:
    """Load the state in the file PATH; the current state of the machine is lost."""
    response = ask(control, "POST", "/load", {"path": str(path.absolute())})
    click.echo(f"loaded {path}: {_time(response['clock'])}")
