"""``{{ }}`` in texts, lists and mappings, and what decides whether a task runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from csm_emulator.services.cfs.ansible.jinja.expressions import evaluate
from csm_emulator.services.cfs.ansible.jinja.filters import LONGEST, as_bool
from csm_emulator.services.cfs.ansible.jinja.operators import Variables
from csm_emulator.services.cfs.ansible.jinja.unknown import UNKNOWN, Unknown, plain
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import HEAVIEST, is_too_heavy, weigh

_WHOLE = re.compile(r"\A\s*\{\{-?((?:(?!\}\}).)*?)-?\}\}\s*\Z", re.DOTALL)

_RENDERED_AT_ONCE = 10
"""Values that are filled with one unit of work."""
_MOST_TEMPLATES = 200
"""In one text."""


def render(value: Any, variables: Variables) -> Any:
    """Templates replaced; a text that is one expression keeps the type of its value.

    What is not known inside a longer text stays as it was written.
    """
    if isinstance(value, str):
        return _render_text(value, variables) if "{{" in value else value
    if isinstance(value, list | dict):
        made = _render_inside(value, variables)
        weight = weigh(made)
        if weight > _RENDERED_AT_ONCE:
            variables.work(weight // _RENDERED_AT_ONCE)
        return UNKNOWN if weight > HEAVIEST else made
    return value


def _render_inside(value: Any, variables: Variables) -> Any:
    if isinstance(value, list):
        return [_render_inside(item, variables) for item in value]
    if isinstance(value, dict):
        return {key: _render_inside(item, variables) for key, item in value.items()}
    return render(value, variables)


def _render_text(text: str, variables: Variables) -> Any:
    alone = _WHOLE.match(text)
    if alone:
        return evaluate(alone[1], variables)

    return _fill(text, variables)


def _fill(text: str, variables: Variables) -> Any:
    parts: list[str] = []
    place, left = 0, LONGEST
    for number, (start, end) in enumerate(_templates(text)):
        value = evaluate(text[start + 2 : end - 2].removeprefix("-").removesuffix("-"), variables)
        if number == _MOST_TEMPLATES or left < 0 or is_too_heavy(value):
            return UNKNOWN
        parts += (text[place:start], text[start:end] if isinstance(value, Unknown) else _written(value))
        place, left = end, left - len(parts[-2]) - len(parts[-1])
    filled = "".join((*parts, text[place:]))
    return filled if len(filled) <= LONGEST else UNKNOWN


def _templates(text: str) -> Iterator[tuple[int, int]]:
    """Where each ``{{ }}`` begins and ends; the text is read once, however many braces it has."""
    end = 0
    while (start := text.find("{{", end)) >= 0 and (closing := text.find("}}", start + 2)) >= 0:
        end = closing + 2
        yield start, end


def _written(value: Any) -> str:
    return "" if value is None else str(plain(value))


def show(value: Any, variables: Variables) -> str:
    """For names and commands: always a text."""
    shown = render(value, variables)
    return str(value) if isinstance(shown, Unknown) else _written(shown)


def holds(condition: Any, variables: Variables, *, unknown: bool = True) -> bool:
    """Whether a condition of ``when`` and its kin is met; ``unknown`` is the answer when nobody can know."""
    if not isinstance(condition, str):
        return bool(condition)
    if "{{" in condition:
        value = render(condition, variables)
        value = evaluate(value, variables) if isinstance(value, str) else value
    else:
        value = evaluate(condition, variables)
    if isinstance(value, Unknown):
        return unknown
    return as_bool(value) if isinstance(value, str) else bool(value)
