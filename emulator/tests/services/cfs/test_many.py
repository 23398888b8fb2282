"""Ten thousand components: every request is fast, from the first desired configuration to the last report."""

from __future__ import annotations

import time
from collections.abc import Callable

from services.cfs.cfs_client import Cfs


def test_a_whole_machine_is_configured(open_cfs: Callable[[str], Cfs]) -> None:
    cfs = open_cfs("alps")
    began = time.process_time()
    nodes = cfs.nodes()
    assert len(nodes) > 10_000
    cfs.configure("c", "one", "two", "three", "four")
    for start in range(0, len(nodes), 1000):
        filters = {"ids": ",".join(nodes[start : start + 1000])}
        cfs.do("PATCH", "/v3/components", {"patch": {"desired_config": "c"}, "filters": filters})
    for node in nodes:
        cfs.do("PATCH", f"/v3/components/{node}", {"state": [], "enabled": True})
    cfs.step(70)
    assert len(cfs.runs.created) == -(-len(nodes) // 25)
    for name in cfs.runs.created:
        session = cfs.records.session(name)
        assert session is not None
        cfs.records.change_session(name, status="running")
        cfs.apply(name, session["ansible"]["limit"].split(","))
        cfs.end(name)
    cfs.step(10)
    pages, next_id = 0, ""
    while True:
        page = cfs.get(f"/v3/components?status=configured&after_id={next_id}")
        pages += len(page["components"])
        if page["next"] is None:
            break
        next_id = page["next"]["after_id"]
    assert pages == len(nodes)
    assert time.process_time() - began < 25
