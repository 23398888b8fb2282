"""The switches of a running emulator, over its control API."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import click

from csm_emulator.cli import running_instances
from csm_emulator.errors import InvalidInput, InvalidMachine, NotFound, Unavailable

Function = TypeVar("Function", bound=Callable[..., Any])
NO_LIMIT = 600.0
NOT_SENT = object()
_NEGATIVE = re.compile(r"-\.?[0-9].*")


def control_option(function: Function) -> Function:
    return click.option(
        "--control", metavar="URL", help=f"The control API of the emulator; also {running_instances.ENVIRONMENT}."
    )(function)


def json_option(function: Function) -> Function:
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(function)


def ask(control: str | None, method: str, path: str, body: object = NOT_SENT) -> Any:
    """One request to the control API; raises what it says."""
    place = urlsplit(running_instances.find(control))
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=NO_LIMIT)
    try:
        connection.request(method, place.path + path, None if body is NOT_SENT else json.dumps(body))
        answer = connection.getresponse()
        text = answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Unavailable(f"the emulator at {place.netloc} does not answer: {error}; does it still run?") from error
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
    """Show what the machine does now."""
    told = ask(control, "GET", "/status")
    stages = ", ".join(f"{count} {stage}" for stage, count in sorted(told["stages"].items()))
    show(
        told,
        [
            f"machine   {told['machine']}: {told['about']}",
            f"time      {_time(told['clock'])}",
            f"nodes     {told['nodes']} ({stages})",
            f"services  {', '.join(told['services'])}",
            f"faults    {len(told['faults'])}",
            f"log       {told['log']} entries",
            f"state     {told['state']}",
        ],
        as_json=as_json,
    )


def _time(clock: dict[str, Any]) -> str:
    speed = f"{clock['speed']:g} times real time" if clock["speed"] else "standing still"
    return f"{clock['now']}, {speed}"


@click.group(
    epilog="\b\nExamples:\n  csm-emulator fault kinds\n"
    "  csm-emulator fault set boot-hangs x1000c0s0b0n[0-1] stage=pxe\n"
    "  csm-emulator fault set server-error smd --next 3 status=502\n  csm-emulator fault clear f1"
)
def fault() -> None:
    """Break things, and stop breaking them."""


@fault.command("kinds", epilog="\b\nExample:\n  csm-emulator fault kinds")
@control_option
def fault_kinds(control: str | None) -> None:
    """What can be broken."""
    kinds = ask(control, "GET", "/faults")["kinds"]
    width = max(map(len, kinds))
    click.echo("\n".join(f"{kind:<{width}}  {told}" for kind, told in kinds.items()))


@fault.command("list", epilog="\b\nExample:\n  csm-emulator fault list")
@control_option
@json_option
def fault_list(control: str | None, as_json: bool) -> None:
    """What is broken now."""
    faults = ask(control, "GET", "/faults")["faults"]
    show(faults, [_fault_line(one) for one in faults] or ["nothing is broken"], as_json=as_json)


def _fault_line(one: dict[str, Any]) -> str:
    often = "" if one["remaining"] is None else f", {one['remaining']} more"
    chance = "" if one["probability"] == 1 else f", with probability {one['probability']:g}"
    return f"{one['id']}  {one['kind']}  {one['targets']}{_parameter_text(one['facts'])}{often}{chance}"


def _parameter_text(facts: dict[str, Any]) -> str:
    return "".join(f" {name}={value}" for name, value in facts.items())


@fault.command(
    "set",
    epilog="\b\nExamples:\n  csm-emulator fault set no-power-on x1000c0s0b0n0\n"
    "  csm-emulator fault set lost-response pcs --next 1 method=POST",
)
@click.argument("kind")
@click.argument("targets")
@click.argument("facts", nargs=-1, metavar="[NAME=VALUE]...")
@click.option("--probability", type=click.FloatRange(0, 1, min_open=True), default=1.0, help="How often it strikes.")
@click.option("--next", "remaining", type=click.IntRange(1), metavar="N", help="Only the next N times.")
@control_option
def fault_set(
    kind: str, targets: str, facts: tuple[str, ...], probability: float, remaining: int | None, control: str | None
) -> None:
    """Break KIND for TARGETS: xnames as a nodeset, or services with commas between; `*` is everything."""
    body = {
        "kind": kind,
        "targets": targets,
        "probability": probability,
        "remaining": remaining,
        "facts": dict(map(_fact, facts)),
    }
    click.echo(_fault_line(ask(control, "POST", "/faults", body)))


def _fact(text: str) -> tuple[str, str]:
    """What is a number and what a name, the kind of fault knows."""
    name, equals, value = text.partition("=")
    if not equals:
        raise click.UsageError(f"{text!r} is not NAME=VALUE")
    return name, value


@fault.command("clear", epilog="\b\nExamples:\n  csm-emulator fault clear f1\n  csm-emulator fault clear --all")
@click.argument("ids", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Clear all of them.")
@control_option
def fault_clear(ids: tuple[str, ...], everything: bool, control: str | None) -> None:
    """Let the faults IDS strike no more, and show them.

    Cables, controllers, disks and services are as before. What a fault did already stays: a session or a job that
    stuck stays stuck, a boot that hangs hangs, and a port does what it did.
    """
    if everything == bool(ids):
        raise click.UsageError("name the faults to clear, or give --all")
    if everything:
        cleared = ask(control, "DELETE", "/faults")["faults"]
        click.echo("\n".join(map(_fault_line, cleared)) or "nothing was broken")
    for one in ids:
        click.echo(_fault_line(ask(control, "DELETE", f"/faults/{quote(one, safe='')}")))


@click.group(
    epilog="\b\nExamples:\n  csm-emulator clock show\n  csm-emulator clock speed 100\n  csm-emulator clock step 30"
)
def clock() -> None:
    """Look at virtual time, change its speed, step it."""


@clock.command("show", epilog="\b\nExample:\n  csm-emulator clock show")
@control_option
@json_option
def clock_show(control: str | None, as_json: bool) -> None:
    """What time it is in the machine."""
    told = ask(control, "GET", "/clock")
    show(told, [_time(told)], as_json=as_json)


class NonNegativeArgument(click.Command):
    """Its argument is not negative, which click would take for an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        backwards = next((arg for arg in args if _NEGATIVE.fullmatch(arg)), None)
        if backwards is not None:
            raise click.UsageError(f"time only goes forward: give 0 or more, not {backwards}", ctx)
        return super().parse_args(ctx, args)


@clock.command(
    "speed",
    cls=NonNegativeArgument,
    epilog="\b\nExamples:\n  csm-emulator clock speed 100\n  csm-emulator clock speed 0",
)
@click.argument("speed", type=click.FloatRange(0, 1000))
@control_option
def clock_speed(speed: float, control: str | None) -> None:
    """Let time run SPEED times as fast as real time; 0 stops it."""
    click.echo(_time(ask(control, "PATCH", "/clock", {"speed": speed})))


@clock.command("step", cls=NonNegativeArgument, epilog="\b\nExample:\n  csm-emulator clock step 30")
@click.argument("seconds", type=click.FloatRange(0))
@control_option
def clock_step(seconds: float, control: str | None) -> None:
    """Move time on by SECONDS at once; everything on the way happens."""
    click.echo(_time(ask(control, "POST", "/clock/step", {"seconds": seconds})))


@click.command(
    epilog="\b\nExamples:\n  csm-emulator probe x1000c0s0b0n0 x1000c0s1b0n0\n"
    "  csm-emulator probe x1000c0s0b0n[0-1] x1000c0s1b0n0 --vlan 100\n"
    "  csm-emulator probe x1000c0s0b0n0 x1000c0s1b0n0 --vni 1025"
)
@click.argument("from", metavar="FROM")
@click.argument("to", metavar="TO")
@click.option("--vlan", type=click.IntRange(0, 4095), help="Send frames with this tag; without, they have none.")
@click.option("--vni", type=click.IntRange(1, 65535), help="Ask for RDMA with this VNI.")
@click.option("--ip", "over_ip", is_flag=True, help="Ask whether a ping is answered: both nodes must be up.")
@control_option
@json_option
def probe(over_ip: bool, control: str | None, as_json: bool, **ends: Any) -> None:
    """Show who of FROM reaches whom of TO over the high-speed network: nodes or their NICs, as nodesets."""
    tagged, rdma = ends["vlan"] is not None, ends["vni"] is not None
    if rdma and (over_ip or tagged):
        raise click.UsageError("--vni goes with neither --vlan nor --ip")
    kind = "vni" if rdma else "ip" if over_ip else "ethernet"
    told = ask(control, "POST", "/fabric/probe", {**ends, "kind": kind})
    counts = told["counts"]
    lines = [_pair_line(pair) for pair in told["pairs"]]
    show(told, [*lines, f"{counts['reached']} of {counts['pairs']} reached"], as_json=as_json)


def _pair_line(pair: dict[str, Any]) -> str:
    how = f" ({pair['leaves']})" if pair.get("leaves") else ""
    return f"{pair['from']} → {pair['to']}  {'reached' + how if pair['reached'] else 'stopped: ' + pair['why']}"


@click.command(epilog="\b\nExample:\n  csm-emulator log --after 100")
@click.option("--after", type=click.IntRange(0), default=0, help="Only entries after this number.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=1000, help="How many entries.  [default: 1000]")
@control_option
@json_option
def log(after: int, limit: int, control: str | None, as_json: bool) -> None:
    """Show what really happened, in order, and why."""
    entries = ask(control, "GET", f"/log?after={after}&limit={limit}")["entries"]
    show(entries, [_log_line(entry) for entry in entries], as_json=as_json)


def _log_line(entry: dict[str, Any]) -> str:
    known = ("number", "at", "what", "target", "cause", "fault")
    facts = _parameter_text({name: value for name, value in entry.items() if name not in known})
    if "fault" in entry:
        facts = f" {entry['fault']['kind']} {entry['fault']['id']}{_parameter_text(entry['fault']['facts'])}"
    return f"{entry['number']:>6}  {entry['at']}  {entry['what']}  {entry['target']}{facts}  ({entry['cause']})"


@click.command(epilog="\b\nExample:\n  csm-emulator save monday.state")
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
@control_option
def save(path: Path, control: str | None) -> None:
    """Write the whole state to PATH."""
    click.echo(f"saved as {ask(control, 'POST', '/save', {'path': str(path.absolute())})['path']}")


@click.command(epilog="\b\nExample:\n  csm-emulator load monday.state")
@click.argument("path", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@control_option
def load(path: Path, control: str | None) -> None:
    """Go on from the state in PATH; what the machine was before is gone."""
    told = ask(control, "POST", "/load", {"path": str(path.absolute())})
    click.echo(f"loaded {path}: {_time(told['clock'])}")
