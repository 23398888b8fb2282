"""Nodes, and the operations and plans that change them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING, Unpack, cast

from canton.client.calls import ApiClient, Change, path
from canton.client.errors import Unreachable, WaitTimeout
from canton.domain.operation import DRIVEN

if TYPE_CHECKING:
    from canton.client.objects import DeletedNodes, Imported, NewNode, Node, Operation, Plan, Step
    from canton.domain.json_types import Json

QUICKEST_LOOK, SLOWEST_LOOK = 0.2, 2.0
"""Seconds between two requests for an operation: short while it changes, longer while it does not."""


class Nodes:
    """Nodes as Canton knows them."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(
        self,
        *,
        nodeset: str | None = None,
        tenant: str | None = None,
        limit: int | None = None,
        sort: str | None = None,
        **filters: str | None,
    ) -> Iterator[Node]:
        """Nodes by nodeset, tenant (``-`` for none), ``site``, ``state`` and ``power``."""
        query = {"nodeset": nodeset, "tenant": tenant or self._api.caller.tenant, "sort": sort, **filters}
        return cast("Iterator[Node]", self._api.pages(path("nodes"), query, limit))

    def get(self, xname: str) -> Node:
        return cast("Node", self._api.get(path("nodes", xname)))

    def load(
        self,
        site: str,
        nodes: Sequence[NewNode],
        *,
        renumber: bool = False,
        dry_run: bool = False,
        **change: Unpack[Change],
    ) -> Imported:
        """Import nodes, all of them or none; ``details["rows"]`` of the problem names every wrong row."""
        body = {"site": site, "nodes": list(nodes)} | ({"renumber": True} if renumber else {})
        query = {"dry_run": dry_run or None}
        return cast("Imported", self._api.change("POST", path("nodes", "import"), body, change, query))

    def plan(self, verb: str, nodes: str, **fields: Json) -> Plan:
        """The plan of ``power``, ``enroll`` and the others; its digest binds a later call to exactly this plan."""
        body = {"nodes": nodes, **fields}
        return cast("Plan", self._api.change("POST", path("nodes", verb), body, None, {"dry_run": True}))

    def power(self, nodes: str, to: str, plan: str | None = None, **change: Unpack[Change]) -> Operation:
        """Power nodes ``on`` or ``off``; the operation has started, not ended, when this returns."""
        return self._order("power", {"nodes": nodes, "to": to}, plan, change)

    def enroll(self, nodes: str, plan: str | None = None, **change: Unpack[Change]) -> Operation:
        """Make nodes free; the caller confirms that they are sanitised, because Canton does not do it yet."""
        return self._order("enroll", {"nodes": nodes, "sanitised_by_hand": True}, plan, change)

    def assign(self, nodes: str, tenant: str, plan: str | None = None, **change: Unpack[Change]) -> Operation:
        """Give free nodes to a tenant; their separation is unproven."""
        return self._order("assign", {"nodes": nodes, "tenant": tenant}, plan, change)

    def release(self, nodes: str, plan: str | None = None, **change: Unpack[Change]) -> Operation:
        """Take nodes from their tenant, into quarantine."""
        return self._order("release", {"nodes": nodes}, plan, change)

    def maintenance(
        self, nodes: str, plan: str | None = None, power: str = "off", **change: Unpack[Change]
    ) -> Operation:
        """Take nodes out of service; with ``power="unchanged"`` without switching them off."""
        return self._order("maintenance", {"nodes": nodes, "power": power}, plan, change)

    def retire(self, nodes: str, plan: str | None = None, **change: Unpack[Change]) -> Operation:
        """Retire nodes in maintenance for good."""
        return self._order("retire", {"nodes": nodes}, plan, change)

    def delete(self, nodes: str, *, dry_run: bool = False, **change: Unpack[Change]) -> DeletedNodes:
        """Remove retired nodes, all of them or none."""
        query = {"dry_run": dry_run or None}
        deleted = self._api.change("POST", path("nodes", "delete"), {"nodes": nodes}, change, query)
        return cast("DeletedNodes", deleted)

    def _order(self, verb: str, body: dict[str, Json], plan: str | None, change: Change) -> Operation:
        bound = body | ({"plan": plan} if plan else {})
        return cast("Operation", self._api.change("POST", path("nodes", verb), bound, change))


class Operations:
    """Operations: changes that take time."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(
        self,
        *,
        tenant: str | None = None,
        limit: int | None = None,
        sort: str | None = None,
        **filters: str | None,
    ) -> Iterator[Operation]:
        """Operations by tenant, ``state``, ``kind``, ``actor`` and ``node``."""
        query = {"tenant": tenant or self._api.caller.tenant, "sort": sort, **filters}
        return cast("Iterator[Operation]", self._api.pages(path("operations"), query, limit))

    def get(self, operation: str) -> Operation:
        return cast("Operation", self._api.get(path("operations", operation)))

    def steps(self, operation: str, *, limit: int | None = None) -> Iterator[Step]:
        return cast("Iterator[Step]", self._api.pages(path("operations", operation, "steps"), None, limit))

    def retry(self, operation: str, **change: Unpack[Change]) -> Operation:
        """Try the failed steps again."""
        return self._intervene(operation, "retry", change)

    def undo(self, operation: str, **change: Unpack[Change]) -> Operation:
        """Undo the steps that are done."""
        return self._intervene(operation, "undo", change)

    def abandon(self, operation: str, **change: Unpack[Change]) -> Operation:
        """End the operation without undoing it; nodes in an unknown state are quarantined."""
        return self._intervene(operation, "abandon", change)

    def cancel(self, operation: str, **change: Unpack[Change]) -> Operation:
        """Start no further step, and undo the steps that are done."""
        return self._intervene(operation, "cancel", change)

    def follow(
        self, operation: str, *, patience: float = 60.0, timeout: float | None = None, repeat: float = inf
    ) -> Iterator[Operation]:
        """Yield the operation now and after every change, until it has ended or needs attention.

        An unreachable server is tried for ``patience`` seconds. Raises ``WaitTimeout`` after ``timeout`` seconds; the
        operation goes on. An unchanged operation is yielded again every ``repeat`` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        last: Operation | None = None
        pause, given_at = QUICKEST_LOOK, time.monotonic()
        while True:
            current = self._get_with_patience(operation, patience)
            if current != last:
                last, pause, given_at = current, QUICKEST_LOOK, time.monotonic()
                yield current
            elif time.monotonic() >= given_at + repeat:
                given_at = time.monotonic()
                yield current
            if current["state"] not in DRIVEN:
                return
            if deadline is not None and time.monotonic() + pause > deadline:
                raise WaitTimeout(
                    f"{operation} is still {current['state']} after {timeout:g} s; it goes on without you. "
                    f"Follow it with: canton operation follow {operation}",
                    operation=operation,
                )
            time.sleep(pause)
            pause = min(SLOWEST_LOOK, pause * 1.5)

    def wait(self, operation: str, timeout: float | None = None) -> Operation:
        """Wait until the operation has ended or needs attention, and return it."""
        *_, last = self.follow(operation, timeout=timeout)
        return last

    def _intervene(self, operation: str, verb: str, change: Change) -> Operation:
        return cast("Operation", self._api.change("POST", path("operations", operation, verb), None, change))

    def _get_with_patience(self, operation: str, patience: float) -> Operation:
        deadline = time.monotonic() + patience
        while True:
            try:
                return self.get(operation)
            except Unreachable:
                if time.monotonic() > deadline:
                    raise
                time.sleep(SLOWEST_LOOK / 2)


class Plans:
    """Plans, whether or not they were carried out."""

    def __init__(self, api: ApiClient) -> None:
        self._api = api

    def list(self, *, tenant: str | None = None, limit: int | None = None, sort: str | None = None) -> Iterator[Plan]:
        query = {"tenant": tenant or self._api.caller.tenant, "sort": sort}
        return cast("Iterator[Plan]", self._api.pages(path("plans"), query, limit))

    def get(self, digest: str) -> Plan:
        return cast("Plan", self._api.get(path("plans", digest)))
