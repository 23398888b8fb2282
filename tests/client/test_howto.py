"""The Python example of the how-to prints what the page says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from client import samples
from client.scripted_server import RecordedRequest, Reply, Script, items, problem, serving

PAGE = Path(__file__).parents[2] / "docs/howto/command-line.md"


def test_the_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    [example] = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    with serving(Script()) as script:
        script.on("GET /v1/nodes", items(samples.node(state="assigned")))
        script.on("POST /v1/nodes/power", _power)
        script.on(
            "GET /v1/operations/op_1", *(Reply(body=samples.operation(s, n)) for s, n in (("running", 1), ("done", 2)))
        )
        script.on("GET /v1/tenants/absent", problem(404, "unknown-tenant", "there is no tenant absent"))
        event = f"id: 1\nevent: e\ndata: {json.dumps(samples.event('operation.queued', 'op_1'))}\n\n"
        script.on("GET /v1/events", Reply(raw=event.encode(), headers={"Content-Type": "text/event-stream"}))
        code = example.replace("https://canton.example.org", script.url)
        exec(compile(code, str(PAGE), "exec"), {"token": "t"})  # noqa: S102 (our own page)
    assert capsys.readouterr().out.splitlines() == [
        "x1000c0s0b0n0 on",
        "running 1 of 2",
        "done 2 of 2",
        "unknown-tenant there is no tenant absent",
        "operation.queued op_1",
    ]


def _power(request: RecordedRequest) -> Reply:
    if request.query:
        return Reply(body=samples.plan())
    assert request.body["plan"] == samples.plan()["digest"]
    return Reply(202, samples.operation())
