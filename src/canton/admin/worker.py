"""``canton worker``: a process that carries operations out."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from contextlib import closing
from pathlib import Path

import click

from canton import wiring
from canton.admin.options import config_option, database_option, describe, load_settings, upgrade_hint
from canton.operations.engine.worker import Worker
from canton.operations.power.readings import PowerReading
from canton.settings import loading
from canton.store.database import WORKING

log = logging.getLogger("canton.worker")


@click.command(epilog="\b\nExample:\n  canton worker --config /etc/canton/server.toml")
@config_option
@database_option
@click.option("--until-eof", is_flag=True, hidden=True, help="Stop when standard input ends, as when a parent dies.")
def worker(config: Path | None, address: str | None, until_eof: bool) -> None:
    """Carry out operations and read the power of nodes, until stopped.

    Any number of workers can run, on any machine that reaches the database and the devices. On SIGTERM or Ctrl-C a
    worker finishes its device calls and releases its operations; a second signal ends it at once. In both cases another
    worker continues its operations.
    """
    flags = loading.Flags(config, address)
    settings = load_settings(flags)
    wiring.start_logging(settings)
    log.info("%s", describe(flags))
    with upgrade_hint(flags), closing(wiring.open_current(settings, WORKING)) as database:
        engine, reading = wiring.make_worker(settings, database)
        asyncio.run(_work(engine, reading, until_eof=until_eof))


async def _work(engine: Worker, reading: PowerReading, *, until_eof: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()

    def end(number: int) -> None:
        if stop.is_set():
            # Whatever is under way is taken over when its lease ends.
            os._exit(128 + number)
        stop.set()

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, end, int(signal_number))
    if until_eof:
        loop.add_reader(sys.stdin.fileno(), _stop_at_eof, loop, stop)
    log.info("worker %s started", engine.id)
    power = asyncio.create_task(reading.run(stop))
    try:
        await engine.run(stop)
    finally:
        power.cancel()
        await asyncio.gather(power, return_exceptions=True)
    log.info("worker %s stopped", engine.id)


def _stop_at_eof(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Stop when standard input ends, as it does when the parent process dies."""
    if not os.read(sys.stdin.fileno(), 1024):
        loop.remove_reader(sys.stdin.fileno())
        stop.set()
