"""The pytest fixture for other projects, used as the how-to page says, in a project of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "run.md"


def test_the_page_s_own_test_passes_and_can_fail(tmp_path: Path) -> None:
    plugins = re.search(r"`(pytest_plugins = .*?)`", PAGE.read_text())
    example = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert plugins
    assert example
    (tmp_path / "conftest.py").write_text(plugins[1])
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_right.py").write_text(example[1])
    (tmp_path / "test_wrong.py").write_text(example[1].replace('== "on"', '== "off"'))
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tmp_path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "1 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
