"""Values of variables for one host and one task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from csm_emulator.services.cfs.ansible.jinja.templates import render
from csm_emulator.services.cfs.ansible.limits import MAX_STEP_WORK, WorkMeter
from csm_emulator.services.cfs.ansible.playbooks.plays import Play, Task
from csm_emulator.services.cfs.ansible.values import UNDEFINED, UNKNOWN, Value

_MAX_DEPTH = 12
"""Levels of variables that refer to variables; beyond this, as for a variable that names itself, it is unknown."""
_MAX_RENDERED = 500
"""Variables that are rendered for one value; beyond this the value is unknown."""
_VALUES_PER_VARIABLE = 400
"""Number of values inside a variable that count as one more variable."""
Maps = Sequence[Mapping[str, Value]]


class Scope:
    """Variables from a sequence of mappings: the first mapping with the name wins; templates are rendered."""

    __slots__ = ("_depth", "_maps", "_meter", "_rendered_count", "_tokens", "work")

    def __init__(self, maps: Maps, meter: WorkMeter | None = None) -> None:
        self._maps = maps
        self._meter = meter or WorkMeter()
        self.work = self._meter.work
        self._tokens = 0
        self._depth = 0
        self._rendered_count = 0

    def __call__(self, name: str) -> Value:
        for mapping in self._maps:
            if name in mapping:
                return self._render(mapping[name])
        return UNDEFINED

    def may_evaluate(self) -> bool:
        """Whether the tokens so far could be parsed within ``MAX_STEP_WORK``, even if no expression were cached."""
        return self._tokens <= MAX_STEP_WORK

    def count(self, tokens: int, *, is_new: bool) -> None:
        self._tokens += tokens
        if is_new:
            self._meter.count_in_turn(tokens)

    def _render(self, value: Value) -> Value:
        if not isinstance(value, str | list | dict) or (isinstance(value, str) and "{{" not in value):
            return value
        self._rendered_count += 1
        if self._depth >= _MAX_DEPTH or self._rendered_count > _MAX_RENDERED:
            return UNKNOWN
        self._depth += 1
        try:
            filled = render(value, self)
            self._rendered_count += len(filled) // _VALUES_PER_VARIABLE if isinstance(filled, list | dict) else 0
            return filled
        finally:
            self._depth -= 1

    def with_first(self, mapping: Mapping[str, Value]) -> Scope:
        return Scope((mapping, *self._maps), self._meter)


class HostVars(Mapping[str, Value]):
    """``hostvars``: the variables of all hosts."""

    def __init__(
        self, host_variables: Mapping[str, Mapping[str, Value]], facts: Mapping[str, Mapping[str, Value]]
    ) -> None:
        self._host_variables = host_variables
        self._facts = facts

    def __getitem__(self, host: str) -> Mapping[str, Value]:
        return {**self._facts.get(host, {}), **self._host_variables[host], "inventory_hostname": host}

    def __iter__(self) -> Iterator[str]:
        return iter(self._host_variables)

    def __len__(self) -> int:
        return len(self._host_variables)


def maps_of_task(play: Play, task: Task, host: Maps, extra: Mapping[str, Value]) -> Maps:
    """Mappings in Ansible's order of precedence, strongest first; ``host`` begins with set variables and facts."""
    role = task.inherited.role
    mappings: list[Mapping[str, Value]] = [extra]
    if role and role.params:
        mappings.append(role.params)
    mappings.append(host[0])
    if task.inherited.vars:
        mappings.append(task.inherited.vars)
    if role and role.vars:
        mappings.append(role.vars)
    mappings += [play.vars, *host[1:]]
    if role and role.defaults:
        mappings.append(role.defaults)
    mappings += [mapping for play_role in play.roles for mapping in (play_role.vars, play_role.defaults) if mapping]
    return mappings
