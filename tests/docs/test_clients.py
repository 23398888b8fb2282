"""Every command of the page on clients of the emulator, with the real kubectl, boto3, git and curl."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docs.examples import ROOT, examples, play
from docs.test_examples import environment

PAGE = ROOT / "emulator/docs/howto/clients.md"
pytestmark = pytest.mark.skipif(
    not shutil.which("kubectl"), reason="NO KUBECTL: the page on clients is not tested (apt install kubernetes-client)"
)


def test_clients_reach_the_emulator_as_the_page_says(tmp_path: Path) -> None:
    assert PAGE.name == "clients.md"
    play(examples(PAGE.read_text()), tmp_path, environment(tmp_path))
