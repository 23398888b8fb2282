"""The generated pages are committed as generated, and the figure shows the whole table legibly."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from canton.admin import reference
from canton.domain.lifecycle import TRANSITIONS, NodeState

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", reference.PAGES)
def test_the_committed_page_is_what_the_code_gives(name: str) -> None:
    committed = (DOCS / name).read_text(encoding="utf-8")
    assert committed == reference.PAGES[name](), f"docs/{name} is out of date; run 'make docs'"


def test_writing_reports_the_changed_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference.main([str(tmp_path)])
    assert capsys.readouterr().out == "".join(f"wrote {tmp_path / name}\n" for name in reference.PAGES)
    (tmp_path / "reference/errors.md").write_text("old")
    reference.main([str(tmp_path)])
    assert capsys.readouterr().out == f"wrote {tmp_path / 'reference/errors.md'}\n"


@pytest.mark.parametrize("name", [name for name in reference.PAGES if name.endswith(".md")])
def test_tables_are_even(name: str) -> None:
    tables = re.findall(r"(?:^\|.*\|\n)+", reference.PAGES[name](), flags=re.MULTILINE)
    assert tables
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}) == 1


@dataclass(frozen=True)
class Area:
    """A rectangle of the figure."""

    left_edge: float
    top: float
    right: float
    bottom: float

    def overlaps(self, area: Area) -> bool:
        return (
            self.left_edge < area.right
            and area.left_edge < self.right
            and self.top < area.bottom
            and area.top < self.bottom
        )

    def touches(self, x: float, y: float) -> bool:
        return self.left_edge <= x <= self.right and self.top <= y <= self.bottom


@dataclass(frozen=True)
class Arrow:
    """One arrow of the figure with the words beside it."""

    points: list[tuple[float, float]]
    words: list[str]

    def segments(self) -> list[Area]:
        return [Area(min(x, u), min(y, v), max(x, u), max(y, v)) for (x, y), (u, v) in pairwise(self.points)]


class Figure:
    """What the SVG shows, read from its text and not from the code that wrote it."""

    def __init__(self, text: str) -> None:
        self.boxes: dict[str, Area] = {}
        self.arrows: list[Arrow] = []
        self.labels: list[Area] = []
        pending: Area | None = None
        for element in ElementTree.fromstring(text):  # noqa: S314 (our own text)
            classes = element.get("class", "")
            if classes.startswith("state"):
                x, y, width, height = (float(element.get(key, "")) for key in ("x", "y", "width", "height"))
                pending = Area(x, y, x + width, y + height)
            elif classes == "name" and pending:
                self.boxes[element.text or ""] = pending
            elif classes == "arrow":
                numbers = [float(number) for number in re.findall(r"[\d.]+", element.get("d", ""))]
                self.arrows.append(Arrow(list(zip(numbers[::2], numbers[1::2], strict=True)), []))
            elif classes == "label":
                self.labels.append(self._area(element))
                if not self.boxes:
                    self.arrows[-1].words.extend((element.text or "").split(", "))

    @staticmethod
    def _area(label: ElementTree.Element) -> Area:
        """Where a label is, in a wide font: DejaVu Sans at 13 px takes about 6.8 px for a character."""
        x, y = float(label.get("x", "")), float(label.get("y", ""))
        width = 6.8 * len(label.text or "")
        left_edge = x - width * {"start": 0, "middle": 0.5, "end": 1}[label.get("text-anchor", "start")]
        return Area(left_edge, y - 10, left_edge + width, y + 3)

    def box_at(self, point: tuple[float, float]) -> str:
        (name,) = (name for name, box in self.boxes.items() if box.touches(*point))
        return name


@pytest.fixture(scope="module")
def figure() -> Figure:
    return Figure(reference.lifecycle_figure())


def test_the_figure_shows_every_event_that_moves_a_node(figure: Figure) -> None:
    drawn_events = {
        (figure.box_at(arrow.points[0]), word, figure.box_at(arrow.points[-1]))
        for arrow in figure.arrows
        for word in arrow.words
    }
    assert drawn_events == {
        (row.state, row.event, row.next_state) for row in TRANSITIONS if row.state != row.next_state
    }
    assert set(figure.boxes) == set(NodeState)


def test_no_arrow_runs_through_a_state(figure: Figure) -> None:
    through = [
        (arrow.words, name)
        for arrow in figure.arrows
        for segment in arrow.segments()
        for name, box in figure.boxes.items()
        if segment.overlaps(box)
    ]
    assert not through


def test_no_label_lies_on_a_state_a_line_or_another_label(figure: Figure) -> None:
    lines = [segment for arrow in figure.arrows for segment in arrow.segments()]
    assert not [(a, b) for a, b in combinations(figure.labels, 2) if a.overlaps(b)]
    assert not [(a, b) for a in figure.labels for b in [*figure.boxes.values(), *lines] if a.overlaps(b)]
    page = Area(0, 0, reference.WIDTH, reference.HEIGHT)
    assert all(page.touches(a.left_edge, a.top) and page.touches(a.right, a.bottom) for a in figure.labels)


def test_an_arrow_without_a_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="lay out their arrow in ELBOWS"):
        reference._arrow(NodeState.LEAVING, NodeState.MAINTENANCE, paired=False)
