"""VNID's own statistics: the number of VNIs of a request, and the number in use after it."""

from __future__ import annotations

from bisect import bisect_left

from csm_emulator.records import Json
from csm_emulator.state.tables import RecordTables
from csm_emulator.transport.call import Call, Reply, json_reply
from csm_emulator.transport.routes import Route

_DIVIDERS = {"asked": [1, 2, 4, 8, 16, 32, 64], "used": [16, 64, 256, 1024, 4096, 16_384]}


class Performance:
    def __init__(self, tables: RecordTables) -> None:
        self._table = tables.open("vnid.performance", {name: _empty(name) for name in _DIVIDERS})

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/fabric/performance", self.get),
            Route("DELETE", "/fabric/performance", self.reset),
        ]

    def record(self, reserved: int, used: int) -> None:
        for name, value in (("asked", reserved), ("used", used)):
            self._table[name] = _updated(name, self._table[name], value)

    def get(self, _: Call) -> Reply:
        return json_reply([_document(name, self._table[name]) for name in _DIVIDERS])

    def reset(self, _: Call) -> Reply:
        for name in _DIVIDERS:
            self._table[name] = _empty(name)
        return json_reply({})


def _empty(name: str) -> Json:
    return {"min": 0, "max": 0, "sum": 0, "count": 0, "buckets": [0] * (len(_DIVIDERS[name]) + 1)}


def _updated(name: str, statistics: Json, value: int) -> Json:
    at = bisect_left(_DIVIDERS[name], value)
    return {
        "min": min(statistics["min"], value) if statistics["count"] else value,
        "max": max(statistics["max"], value),
        "sum": statistics["sum"] + value,
        "count": statistics["count"] + 1,
        "buckets": [count + (place == at) for place, count in enumerate(statistics["buckets"])],
    }


def _document(name: str, statistics: Json) -> Json:
    return {
        "min": statistics["min"],
        "max": statistics["max"],
        "average": statistics["sum"] / statistics["count"] if statistics["count"] else 0,
        "count": statistics["count"],
        "buckets": statistics["buckets"],
        "dividers": _DIVIDERS[name],
    }
