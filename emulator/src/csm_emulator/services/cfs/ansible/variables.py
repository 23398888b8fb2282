"""Which value a name has, for one host and one task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from csm_emulator.services.cfs.ansible.jinja.templates import render
from csm_emulator.services.cfs.ansible.jinja.unknown import UNDEFINED, UNKNOWN
from csm_emulator.services.cfs.ansible.limits import MOST_AT_ONCE, Meter
from csm_emulator.services.cfs.ansible.playbooks.plays import Play, Task

_DEEPEST = 12
"""A variable that names itself ends as unknown."""
_MOST_FILLED = 500
"""So do variables that name many others, and those many again."""
_FILLED_AT_ONCE = 400
"""As many values inside of one count as another variable."""
Maps = Sequence[Mapping[str, Any]]


class Scope:
    """The first mapping that has the name gives the value; templates in it are filled."""

    __slots__ = ("_depth", "_filled_so_far", "_maps", "_meter", "_tokens", "work")

    def __init__(self, maps: Maps, meter: Meter | None = None) -> None:
        self._maps = maps
        self._meter = meter or Meter()
        self.work = self._meter.work
        self._tokens = 0
        self._depth = 0
        self._filled_so_far = 0

    def __call__(self, name: str) -> Any:
        for held in self._maps:
            if name in held:
                return self._filled(held[name])
        return UNDEFINED

    def may_evaluate(self) -> bool:
        """Whether the expressions so far, were they all new, could be parsed in the time that one step may take."""
        return self._tokens <= MOST_AT_ONCE

    def count(self, tokens: int, *, is_new: bool) -> None:
        self._tokens += tokens
        if is_new:
            self._meter.tire(tokens)

    def _filled(self, value: Any) -> Any:
        if not isinstance(value, str | list | dict) or (isinstance(value, str) and "{{" not in value):
            return value
        self._filled_so_far += 1
        if self._depth >= _DEEPEST or self._filled_so_far > _MOST_FILLED:
            return UNKNOWN
        self._depth += 1
        try:
            filled = render(value, self)
            self._filled_so_far += len(filled) // _FILLED_AT_ONCE if isinstance(filled, list | dict) else 0
            return filled
        finally:
            self._depth -= 1

    def with_first(self, held: Mapping[str, Any]) -> Scope:
        return Scope((held, *self._maps), self._meter)


class HostVars(Mapping[str, Any]):
    """``hostvars``: what is known of other hosts."""

    def __init__(self, held: Mapping[str, Mapping[str, Any]], facts: Mapping[str, Mapping[str, Any]]) -> None:
        self._held = held
        self._facts = facts

    def __getitem__(self, host: str) -> Mapping[str, Any]:
        return {**self._facts.get(host, {}), **self._held[host], "inventory_hostname": host}

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


def maps_of_task(play: Play, task: Task, host: Maps, extra: Mapping[str, Any]) -> Maps:
    """In Ansible's order of precedence, the strongest first; ``host`` is (set and registered, facts, inventory…)."""
    role = task.manner.role
    mine: list[Mapping[str, Any]] = [extra]
    if role and role.params:
        mine.append(role.params)
    mine.append(host[0])
    if task.manner.vars:
        mine.append(task.manner.vars)
    if role and role.vars:
        mine.append(role.vars)
    mine += [play.vars, *host[1:]]
    if role and role.defaults:
        mine.append(role.defaults)
    mine += [held for other in play.roles for held in (other.vars, other.defaults) if held]
    return mine
