"""Networks without services."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from machine.fabric.network import Network

Open = Callable[[str], Network]


@pytest.fixture
def open_network(tmp_path: Path) -> Iterator[Open]:
    opened: list[Network] = []

    def start(name: str) -> Network:
        opened.append(Network(tmp_path / f"{name}-{len(opened)}.state", name))
        return opened[-1]

    yield start
    for network in opened:
        network.close()


@pytest.fixture
def network(open_network: Open) -> Network:
    return open_network("tiny")
