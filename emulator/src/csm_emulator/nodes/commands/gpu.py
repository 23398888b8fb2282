"""nvidia-smi: the table, the list, and fields as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from getopt import GetoptError, gnu_getopt

from csm_emulator.nodes.shell import Outcome, Terminal, refuse

DRIVER, CUDA = "550.54.15", "12.4"
USED_MIB, CELSIUS, WATTS = 1, 31, 88.0
"""Values of an idle GPU."""
_FIRST_SERIAL, _SERIALS = 1_650_000_000_000, 10_000_000_000
_INVALID, _NONE = 2, 6
"""Exit codes: wrong argument, no such GPU."""
_KNOWN = "nvidia-smi, -L, and --query-gpu=… --format=csv[,noheader][,nounits], each with -i INDEX"


@dataclass(frozen=True, slots=True)
class _Gpu:
    index: int
    name: str
    uuid: str
    serial: str
    memory_mib: int

    @property
    def bus(self) -> str:
        return f"{self.index:08X}:01:00.0"


_FIELDS: dict[str, tuple[str, Callable[[_Gpu], str]]] = {
    "index": ("", lambda gpu: str(gpu.index)),
    "name": ("", lambda gpu: gpu.name),
    "uuid": ("", lambda gpu: f"GPU-{gpu.uuid}"),
    "serial": ("", lambda gpu: gpu.serial),
    "pci.bus_id": ("", lambda gpu: gpu.bus),
    "driver_version": ("", lambda _: DRIVER),
    "memory.total": ("MiB", lambda gpu: str(gpu.memory_mib)),
    "memory.used": ("MiB", lambda _: str(USED_MIB)),
    "memory.free": ("MiB", lambda gpu: str(gpu.memory_mib - USED_MIB)),
    "utilization.gpu": ("%", lambda _: "0"),
    "utilization.memory": ("%", lambda _: "0"),
    "temperature.gpu": ("", lambda _: str(CELSIUS)),
    "power.draw": ("W", lambda _: f"{WATTS:.2f}"),
}
"""Unit and value of each field."""
_ALIASES = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_serial": "serial", "gpu_bus_id": "pci.bus_id"}


def nvidia_smi(terminal: Terminal, argv: Sequence[str]) -> Outcome:
    gpus = _gpus(terminal)
    if gpus is None:
        return refuse("-bash: nvidia-smi: command not found", 127)
    try:
        options, operands = gnu_getopt(list(argv), "Li:", ["list-gpus", "id=", "query-gpu=", "format="])
    except GetoptError as error:
        return refuse(f"nvidia-smi: {error}; this console has {_KNOWN}", _INVALID)
    if operands:
        return refuse("Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.", _INVALID)
    return _show(gpus, dict(options))


def _show(gpus: Sequence[_Gpu], options: Mapping[str, str]) -> Outcome:
    indices = options.get("-i", options.get("--id"))
    selected = [gpu for gpu in gpus if indices is None or str(gpu.index) in indices.split(",")]
    if not selected:
        return refuse("No devices were found", _NONE)
    if "--query-gpu" in options:
        return _query(selected, options["--query-gpu"], options.get("--format", ""))
    if "-L" in options or "--list-gpus" in options:
        return Outcome("".join(f"GPU {gpu.index}: {gpu.name} (UUID: GPU-{gpu.uuid})\n" for gpu in selected))
    return Outcome("\n".join(_table(selected)) + "\n")


def _gpus(terminal: Terminal) -> list[_Gpu] | None:
    """The GPUs; None without NVIDIA's driver."""
    fru, count = terminal.node.accelerators
    if fru is None or "NVIDIA" not in fru.manufacturer.upper():
        return None
    random, node = terminal.machine.context.random, terminal.node.xname
    memory = int(fru.facts.get("MemoryMiB", 0))  # type: ignore[call-overload]
    return [
        _Gpu(
            number,
            fru.model,
            random.uuid("gpu", node, number),
            str(_FIRST_SERIAL + int(random.roll("gpu.serial", node, number) * _SERIALS)),
            memory,
        )
        for number in range(count)
    ]


def _query(gpus: Sequence[_Gpu], fields: str, form: str) -> Outcome:
    names = [name.strip() for name in fields.split(",")]
    format_words = {word.strip() for word in form.split(",")}
    unknown = [name for name in names if _ALIASES.get(name, name) not in _FIELDS]
    if unknown:
        return refuse(f'Field "{unknown[0]}" is not a valid field to query.\n', _INVALID)
    if "csv" not in format_words or format_words - {"csv", "noheader", "nounits"}:
        return refuse(f"nvidia-smi: --query-gpu takes --format=csv; this console has {_KNOWN}", _INVALID)
    lines = [", ".join(_titled(name) for name in names)] if "noheader" not in format_words else []
    lines += [", ".join(_value(gpu, name, "nounits" not in format_words) for name in names) for gpu in gpus]
    return Outcome("".join(f"{line}\n" for line in lines))


def _titled(name: str) -> str:
    unit, _ = _FIELDS[_ALIASES.get(name, name)]
    return f"{name} [{unit}]" if unit else name


def _value(gpu: _Gpu, name: str, with_unit: bool) -> str:
    unit, read = _FIELDS[_ALIASES.get(name, name)]
    return f"{read(gpu)} {unit}" if unit and with_unit else read(gpu)


_WIDTHS = (41, 24, 22)
_RULE = "+" + "+".join("-" * width for width in _WIDTHS) + "+"


def _row(*cells: str) -> str:
    return "|" + "|".join(f"{cell:<{width}}" for cell, width in zip(cells, _WIDTHS, strict=True)) + "|"


def _table(gpus: Sequence[_Gpu]) -> Iterator[str]:
    yield "+" + "-" * (len(_RULE) - 2) + "+"
    yield f"| NVIDIA-SMI {DRIVER}   Driver Version: {DRIVER}   CUDA Version: {CUDA}".ljust(len(_RULE) - 1) + "|"
    yield _RULE
    yield _row(" GPU  Name                 Persistence-M ", " Bus-Id          Disp.A ", " Volatile Uncorr. ECC ")
    yield _RULE.replace("-", "=").replace("+", "|")
    for gpu in gpus:
        yield _row(f" {gpu.index:>3}  {gpu.name:<29.29}  On", f" {gpu.bus} Off", f"{0:>21}")
        draw = f" N/A   {CELSIUS}C    P0              {WATTS:.0f}W / 900W"
        yield _row(draw, f"{USED_MIB:>7}MiB / {gpu.memory_mib:>7}MiB", "      0%      Default")
        yield _RULE
