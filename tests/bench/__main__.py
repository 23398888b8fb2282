"""``make bench``: measure, print a table, write build/bench.json."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bench import (
    api,
    claims,
    client,
    emulator,
    emulator_boot,
    emulator_one_node,
    engine,
    events,
    fleet,
    hostile,
    load,
    nodeset,
    takeover,
)
from bench.database_kinds import DatabaseKind, database_kinds, postgresql_version
from bench.report import Row, circumstances, document, table
from bench.report import load as load_average

PARTS: dict[str, Callable[[Sequence[DatabaseKind]], Iterable[Row]]] = {
    "nodeset": lambda _: nodeset.run(),
    "engine": engine.run,
    "fleet": fleet.run,
    "takeover": takeover.run,
    "claims": claims.run,
    "api": api.run,
    "client": client.run,
    "events": events.run,
    "load": load.run,
    "hostile": hostile.run,
    "emulator": lambda _: emulator.run(),
    "emulator-boot": lambda _: emulator_boot.run(),
    "emulator-one-node": lambda _: emulator_one_node.run(),
}


def main() -> int:
    arguments = _arguments()
    # A service manager's or a CI's stop ends as an error would: with the server stopped and the files gone.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    rows: list[Row] = []
    with database_kinds() as databases:
        around = circumstances(postgresql_version())
        for name in arguments.parts or PARTS:
            rows += _measure(name, databases)
    report = document(rows, around)
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(report, indent=2) + "\n")
    print(table(rows))
    print(f"\n{report['cpus']} CPUs, load average {report['load_before']} before, {report['load_after']} after")
    print(f"written to {arguments.json}", flush=True)
    over = [row.what for row in rows if row.over]
    if over:
        print(f"OVER BUDGET: {'; '.join(over)}", file=sys.stderr)
    return 1 if over and not arguments.no_fail else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="make bench",
        description="Measure Canton's budgets. Ends with 1 when one is exceeded: on a busy machine that may be the "
        "machine, so look at the load average, and measure again.",
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; without any, all of them")
    parser.add_argument("--json", type=Path, default=Path("build/bench.json"), help="where to write (%(default)s)")
    parser.add_argument("--no-fail", action="store_true", help="end with 0 even if a budget is exceeded")
    arguments = parser.parse_args()
    unknown = [part for part in arguments.parts if part not in PARTS]
    if unknown:
        parser.error(f"there is no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return arguments


def _measure(name: str, databases: Sequence[DatabaseKind]) -> list[Row]:
    start = time.monotonic()
    print(f"{name} …", end=" ", file=sys.stderr, flush=True)
    rows = list(PARTS[name](databases))
    print(f"{time.monotonic() - start:.0f} s, load {load_average()}", file=sys.stderr)
    return rows


if __name__ == "__main__":
    sys.exit(main())
