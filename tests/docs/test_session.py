"""The terminal session in the README is what its commands print today."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.session_picture import draw, record
from docs.examples import DOCS, ROOT


@pytest.mark.slow(30)
def test_the_session_in_the_readme_shows_what_its_commands_print(tmp_path: Path) -> None:
    committed = (DOCS / "session.svg").read_text(encoding="utf-8")
    assert draw(record(tmp_path / "session")) == committed, "docs/session.svg is out of date; run 'make session'"


def test_the_readme_shows_the_session() -> None:
    assert "](docs/session.svg)" in (ROOT / "README.md").read_text()
