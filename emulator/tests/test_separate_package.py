"""The emulator and the product do not know one another; the ground truth least of all."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "src" / "canton"
EMULATOR = SOURCES / "emulator"
# The command table names the commands as texts and imports none of them.
DOOR = SOURCES / "cli" / "emulate.py"


def imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield f"{node.module}"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def texts(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def product() -> Iterator[Path]:
    for file in SOURCES.rglob("*.py"):
        if EMULATOR not in file.parents and file != DOOR:
            yield file


def test_the_product_neither_imports_nor_names_the_emulator() -> None:
    knowing = [
        file
        for file in product()
        for text in [*imports(file), *texts(file)]
        if text.startswith("csm_emulator") or "CANTON_EMULATOR" in text
    ]
    assert knowing == []


def test_the_emulator_uses_nothing_of_canton_but_the_domain() -> None:
    foreign = {
        name
        for file in EMULATOR.rglob("*.py")
        for name in imports(file)
        if name.startswith("canton.") and not name.startswith(("csm_emulator", "canton.domain"))
    }
    assert foreign == set()


def test_no_face_reads_the_log_of_the_truth() -> None:
    for file in (EMULATOR / "faces").rglob("*.py"):
        assert ".log.after" not in file.read_text(), file
