"""Pages of the docs as scripts: their commands in order, with what each must print.

In a block that begins with ``$ ``, lines with ``$ `` are commands, lines with ``> `` go on with a command, and the
rest is what the command prints; ``…`` stands for output that varies. "Write this as `FILE`:" before a block makes it a
file.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MARKER = "--- end of output ---"
BLOCK = re.compile(
    r"^Write this as `(?P<file>[^`]+)`:\n\n```\w+\n(?P<text>.*?)^```$|^```\n(?P<commands>\$ .*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LIMIT = 600.0


@dataclass(frozen=True)
class Example:
    command: str
    output: str


def examples(text: str) -> list[Example]:
    """The examples of a page, or of a part of one."""
    return [example for block in BLOCK.finditer(text) for example in _of_block(block)]


def _of_block(block: re.Match[str]) -> Iterator[Example]:
    if block["file"]:
        write = f"sudo tee {block['file']} >/dev/null" if block["file"].startswith("/") else f"cat > {block['file']}"
        yield Example(f"{write} <<'END OF FILE'\n{block['text']}END OF FILE", "")
        return
    for part in re.split(r"^\$ ", block["commands"], flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        while output.startswith("> "):
            line, _, output = output[2:].partition("\n")
            command += f"\n{line}"
        yield Example(command, output)


def section(page: Path, heading: str) -> str:
    """The part of a page from a heading to the next one of the same level."""
    match = re.search(rf"^## {re.escape(heading)}\n.*?(?=^## |\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    assert match is not None, f"{page} has no heading {heading}"
    return match[0]


def substitute(text: str, replacements: Mapping[str, str]) -> str:
    for old, new in replacements.items():
        text = text.replace(old, new)
    return text


def play(
    parts: Sequence[Example],
    folder: Path,
    environment: Mapping[str, str],
    onlooker: Callable[[str], None] = lambda _: None,
    runner: Sequence[str] = ("/bin/sh",),
) -> None:
    """Run the commands in one shell and compare what each prints. ``onlooker`` gets all output so far, again and again.
    A ``runner`` elsewhere begins in the same folder.

    Output goes into files: a pipe would stay open for as long as something runs in the background.
    """
    script, printed, errors = (folder / f"commands.{suffix}" for suffix in ("sh", "out", "err"))
    lines = [f"{part.command}\necho '{MARKER}'" for part in parts]
    script.write_text("\n".join(["set -eu", *lines, ""]))
    with printed.open("w") as out, errors.open("w") as err:
        running = subprocess.Popen(
            [*runner, script.name], cwd=folder, env=dict(environment), stdout=out, stderr=err, start_new_session=True
        )
        try:
            status = _wait(running, lambda: onlooker(printed.read_text() + errors.read_text()))
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGTERM)
            running.wait()
    outputs = printed.read_text().split(f"{MARKER}\n")
    complaint = f"\n{outputs[-1]}\n{errors.read_text()[-4000:]}"
    assert status == 0, f"$ {parts[min(len(outputs), len(parts)) - 1].command}{complaint}"
    for part, output in zip(parts, outputs, strict=False):
        pattern = re.escape(part.output.strip()).replace("…", r"[\s\S]*")
        assert re.fullmatch(pattern, output.strip()), f"$ {part.command}\n{output}{complaint}"


def _wait(shell: subprocess.Popen[bytes], look: Callable[[], None]) -> int:
    deadline = time.monotonic() + LIMIT
    while shell.poll() is None:
        look()
        if time.monotonic() > deadline:
            shell.kill()
        time.sleep(0.1)
    return shell.returncode
