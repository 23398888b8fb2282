"""Draws ``docs/session.svg``: a terminal session, from commands that this program really runs.

``python -m demo.session_picture docs/session.svg`` starts the emulated machine, a server and a worker in a folder of
its own, runs the commands of ``record`` in a shell, and draws each with what it printed. Identifiers, digests and
instants, which are new in each run, are drawn as ``…``, so that a test can compare the committed picture with another.
"""

from __future__ import annotations

import re
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from canton.domain.nodeset.nodeset import expand
from demo.stage import Stage, wait
from demo.story import PSI, free_port

# What is new in each run: identifiers of operations, digests, instants with their age.
VARYING = re.compile(r"(?<=op_)[0-9a-f]+|(?<=sha256:)[0-9a-f]+|\b20\d\d-\S+Z \([^)]*\)")
# In px: a monospaced character of 13 px is about 7.8 px wide.
CHARACTER, LINE, MARGIN, TITLE_BAR = 7.8, 19, 18, 34
SET_UP = (
    "canton site create alps",
    "canton tenant create psi --description 'Paul Scherrer Institute'",
    "canton tenant create cscs --description 'Centre for Supercomputing'",
    "canton node import nodes.csv --site alps --reason 'as HSM has them'",
)


@dataclass(frozen=True)
class Comment:
    """A line that says what the next commands show."""

    text: str


@dataclass(frozen=True)
class Command:
    """A command as a person typed it, and the lines that it printed."""

    person: str
    text: str
    output: tuple[str, ...]


Scene = Comment | Command


class Recorder:
    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self.scenes: list[Scene] = []

    def comment(self, text: str) -> None:
        self.scenes.append(Comment(text))

    def run(self, person: str, command: str, *, status: int = 0) -> None:
        self._stage.environment["CANTON_CONTEXT"] = person
        result = self._stage.run(command)
        if result.returncode != status:
            raise SystemExit(f"{command} ended with {result.returncode}, not {status}:\n{result.stdout}")
        lines = VARYING.sub("…", result.stdout).splitlines()
        self.scenes.append(Command(person, command, tuple(line.rstrip() for line in lines)))


def record(folder: Path) -> list[Scene]:
    """Run the session in a new folder; takes about 20 s."""
    stage = Stage(folder, free_port())
    try:
        stage.build()
        url = stage.start()
        for person in ("rosa", "ann"):
            stage.log_in(person, url)
        for command in SET_UP:
            Recorder(stage).run("rosa", command)
        return _session(stage, Recorder(stage))
    finally:
        stage.stop()


def _session(stage: Stage, recorder: Recorder) -> list[Scene]:
    recorder.comment("Rosa runs the centre and sees every tenant. Ann works for PSI: for her, CSCS does not exist.")
    recorder.run("rosa", "canton tenant list")
    recorder.run("ann", "canton tenant list")
    recorder.run("ann", "canton tenant show cscs", status=3)
    recorder.comment("Ann plans a change, then makes it. Half-way, the worker that carries it out is killed.")
    recorder.run("ann", f"canton node power on '{PSI}' --dry-run")
    worker = stage.start_worker()
    (stage.folder / "worker.pid").write_text(str(worker.pid))
    recorder.run("ann", f"canton node power on '{PSI}' --reason 'beam time' --no-wait -q")
    nodes = expand(PSI)
    wait(lambda: stage.switched_on(nodes) >= 1, "a node switched on")
    recorder.run("rosa", "kill -9 $(cat worker.pid)")
    if worker.wait() != -signal.SIGKILL or stage.switched_on(nodes) == len(nodes):
        raise SystemExit("the worker was not killed half-way")
    stage.start_worker()
    recorder.comment("Another worker takes over. It reads the power of each node first, and switches on the rest.")
    recorder.run("ann", "canton operation follow $(canton operation list -q)")
    if stage.switched_on(nodes) != len(nodes):
        raise SystemExit("not all nodes are on")
    recorder.comment("Who did what, and why, is on record; each record is chained to the one before it.")
    recorder.run("rosa", "canton audit list --limit 2 -c actor,action,outcome,reason")
    recorder.run("rosa", "canton audit verify 2>/dev/null")
    return recorder.scenes


def draw(scenes: Sequence[Scene]) -> str:
    """The session as an SVG: a text element for each line, as wide as its characters in every font."""
    rows: list[tuple[str, str]] = []
    for scene in scenes:
        if isinstance(scene, Comment):
            rows += [("", ""), ("comment", f"# {scene.text}")]
        else:
            rows.append(("command", f"{scene.person}$ {scene.text}"))
            rows += [("output", line) for line in scene.output]
    rows = rows[1:]
    width = round(2 * MARGIN + CHARACTER * max(len(text) for _, text in rows))
    height = TITLE_BAR + LINE * len(rows) + MARGIN
    lines = [_text(style, text, TITLE_BAR + LINE * number) for number, (style, text) in enumerate(rows, 1) if text]
    return "\n".join(
        [
            "<!-- Drawn by `make session` from commands that were run; do not edit. -->",
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
            'aria-label="A terminal session with Canton" font-size="13" '
            "font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\">",
            "<style>text { white-space: pre; fill: #d5dbe3 } .comment { fill: #8ba0b8 } .command { fill: #ffffff } "
            ".person { fill: #7ee0a3; font-weight: 600 }</style>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#16202c"/>',
            *(
                f'<circle cx="{22 + 20 * place}" cy="20" r="6" fill="{colour}"/>'
                for place, colour in enumerate(("#e8695f", "#e5b94e", "#6cbf5c"))
            ),
            *lines,
            "</svg>",
            "",
        ]
    )


def _text(style: str, text: str, y: int) -> str:
    shown = escape(text, quote=False)
    if style == "command":
        prompt, _, command = shown.partition("$ ")
        shown = f'<tspan class="person">{prompt}$</tspan> {command}'
    return (
        f'<text class="{style}" x="{MARGIN}" y="{y}" textLength="{CHARACTER * len(text):.1f}" '
        f'lengthAdjust="spacingAndGlyphs" xml:space="preserve">{shown}</text>'
    )


def main(arguments: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        picture = draw(record(Path(folder) / "session"))
    Path(arguments[0]).write_text(picture, encoding="utf-8")
    print(f"wrote {arguments[0]}")


if __name__ == "__main__":
    main(sys.argv[1:])
