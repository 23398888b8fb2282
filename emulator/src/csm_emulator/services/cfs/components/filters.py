"""Filters of components."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.components.table import BROKEN, Components
from csm_emulator.services.cfs.errors import refuse

Tags = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Query:
    """A filter; a component must match all fields that are set."""

    ids: frozenset[str] = frozenset()
    statuses: frozenset[str] = frozenset()
    enabled: bool | None = None
    configuration: str = ""
    tags: Tags = ()


def read_query(values: Mapping[str, Json], configuration: str = "config_name") -> Query:
    """The filter in query parameters or in the body of a PATCH; raises ``Refused``."""
    return Query(
        frozenset(_words(values.get("ids"))),
        frozenset(_words(values.get("status"))),
        values.get("enabled"),
        values.get(configuration) or "",
        read_tags(values.get("tags")),
    )


def read_tags(text: str | None) -> Tags:
    tags = tuple(tuple(word.split("=")) for word in _words(text))
    if any(len(tag) != 2 for tag in tags):
        raise refuse(400, "Error parsing the tags provided.", "")
    return tags  # type: ignore[return-value]


def select(table: Components, query: Query, start_after: str = "") -> Iterator[tuple[str, Record]]:
    """Matching components in order of name; raises ``UncaughtError`` at one that the real service cannot evaluate."""
    for key in _candidates(table, query, start_after):
        record = table.get(key)
        if record is None or not _matches(record, query):
            continue
        status = table.status(key)
        if status == BROKEN:
            raise UncaughtError
        if not query.statuses or status in query.statuses:
            yield key, record


def _candidates(table: Components, query: Query, start_after: str) -> Sequence[str]:
    """Names of components that may match, from the smallest index that contains all matches."""
    lists = []
    if query.ids:
        lists.append(query.ids)
    if query.configuration:
        lists.append(frozenset(table.with_configuration(query.configuration)))
    if query.statuses:
        words = (*query.statuses, BROKEN)
        lists.append(frozenset().union(*(table.with_status(word) for word in words)))
    if not lists:
        return table.keys_after(start_after)
    return sorted(key for key in min(lists, key=len) if key > start_after)


def _matches(record: Record, query: Query) -> bool:
    if query.ids and record.get("id") not in query.ids:
        return False
    if query.enabled is not None and record.get("enabled") != query.enabled:
        return False
    if query.configuration and record.get("desired_config") != query.configuration:
        return False
    if not query.tags:
        return True
    tags = record.get("tags", {})
    return all(tags.get(key) == value for key, value in query.tags)


def _words(text: str | None) -> list[str]:
    return text.split(",") if text else []
