"""Templates (``{{ }}``) in texts, lists and mappings, and conditions of tasks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from csm_emulator.services.cfs.ansible.jinja.expressions import evaluate
from csm_emulator.services.cfs.ansible.jinja.filters import MAX_LENGTH, as_bool
from csm_emulator.services.cfs.ansible.jinja.operators import Variables
from csm_emulator.services.cfs.ansible.playbooks.yaml_loader import MAX_VALUES, count_values, has_too_many_values
from csm_emulator.services.cfs.ansible.values import UNKNOWN, Unknown, Value, plain

_WHOLE = re.compile(r"\A\s*\{\{-?((?:(?!\}\}).)*?)-?\}\}\s*\Z", re.DOTALL)

_RENDERED_PER_UNIT = 10
"""Values that are rendered with one unit of work."""
_MAX_TEMPLATES = 200
"""Templates in one text."""


def render(value: Value, variables: Variables) -> Value:
    """The value with templates replaced; a text that is a single expression gives a value of that expression's type.

    A template with an unknown value inside a longer text stays as it is written.
    """
    if isinstance(value, str):
        return _render_text(value, variables) if "{{" in value else value
    if isinstance(value, list | dict):
        rendered = _render_inside(value, variables)
        weight = count_values(rendered)
        if weight > _RENDERED_PER_UNIT:
            variables.work(weight // _RENDERED_PER_UNIT)
        return UNKNOWN if weight > MAX_VALUES else rendered
    return value


def _render_inside(value: Value, variables: Variables) -> Value:
    if isinstance(value, list):
        return [_render_inside(item, variables) for item in value]
    if isinstance(value, dict):
        return {key: _render_inside(item, variables) for key, item in value.items()}
    return render(value, variables)


def _render_text(text: str, variables: Variables) -> Value:
    single = _WHOLE.match(text)
    if single:
        return evaluate(single[1], variables)

    return _fill(text, variables)


def _fill(text: str, variables: Variables) -> Value:
    parts: list[str] = []
    position, budget = 0, MAX_LENGTH
    for number, (start, end) in enumerate(_templates(text)):
        value = evaluate(text[start + 2 : end - 2].removeprefix("-").removesuffix("-"), variables)
        if number == _MAX_TEMPLATES or budget < 0 or has_too_many_values(value):
            return UNKNOWN
        parts += (text[position:start], text[start:end] if isinstance(value, Unknown) else _to_text(value))
        position, budget = end, budget - len(parts[-2]) - len(parts[-1])
    filled = "".join((*parts, text[position:]))
    return filled if len(filled) <= MAX_LENGTH else UNKNOWN


def _templates(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each ``{{ }}``; the text is read once, however many braces it has."""
    end = 0
    while (start := text.find("{{", end)) >= 0 and (closing := text.find("}}", start + 2)) >= 0:
        end = closing + 2
        yield start, end


def _to_text(value: Value) -> str:
    return "" if value is None else str(plain(value))


def render_to_text(value: Value, variables: Variables) -> str:
    """The rendered value as text, for names and commands."""
    rendered = render(value, variables)
    return str(value) if isinstance(rendered, Unknown) else _to_text(rendered)


def holds(condition: Value, variables: Variables, *, unknown: bool = True) -> bool:
    """Whether a condition such as ``when`` is true; ``unknown`` is returned when its value is unknown."""
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
