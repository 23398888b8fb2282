"""The emulator and the product import nothing from one another, and the machine imports nothing of the services."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

EMULATOR = Path(__file__).parents[1] / "src" / "csm_emulator"
PRODUCT = Path(__file__).parents[2] / "src" / "canton"
# It calls the command ``csm-emulator``, and so names the module.
PASS_THROUGH = PRODUCT / "cli" / "commands" / "emulate.py"


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
    yield from (file for file in PRODUCT.rglob("*.py") if file != PASS_THROUGH)


def test_the_product_neither_imports_nor_names_the_emulator() -> None:
    knowing = [
        file
        for file in product()
        for text in [*imports(file), *texts(file)]
        if text.startswith("csm_emulator") or "CSM_EMULATOR" in text
    ]
    assert knowing == []


def test_the_emulator_imports_nothing_of_canton() -> None:
    imported = {name for file in EMULATOR.rglob("*.py") for name in imports(file)}
    assert not {name for name in imported if name.split(".")[0] == "canton"}


def test_no_face_reads_the_log_of_the_truth() -> None:
    for file in (EMULATOR / "services").rglob("*.py"):
        assert ".log.after" not in file.read_text(), file
