"""Power maps: the outlets that feed a component."""

from __future__ import annotations

from services.smd.hsm_client import Hsm

MAPS = "/sysinfo/powermaps"


def test_maps_are_put_in_read_replaced_and_deleted(hsm: Hsm) -> None:
    body = [{"id": "X0C0S01B0N0", "poweredBy": ["x0m0p0v01"]}, {"id": "x0c0s2b0n0", "poweredBy": ["x0m0p0v2"]}]
    assert hsm.do("POST", MAPS, body).json()["message"] == "Created or modified 2 entries"
    assert hsm.read(f"{MAPS}/x0c0s1b0n0") == {"id": "x0c0s1b0n0", "poweredBy": ["x0m0p0v1"]}
    hsm.do("PUT", f"{MAPS}/x0c0s1b0n0", {"poweredBy": ["x0m0p0v3"]})
    assert [powermap["poweredBy"] for powermap in hsm.read(MAPS)] == [["x0m0p0v3"], ["x0m0p0v2"]]
    hsm.do("DELETE", f"{MAPS}/x0c0s1b0n0")
    assert hsm.refusal("GET", f"{MAPS}/x0c0s1b0n0") == (404, "no such xname.")
    hsm.do("DELETE", MAPS)
    assert hsm.refusal("DELETE", MAPS) == (404, "no entries to delete")


def test_one_bad_map_keeps_all_out(hsm: Hsm) -> None:
    good = {"id": "x0c0s1b0n0", "poweredBy": ["x0m0p0v1"]}
    detail = "couldn't validate map data at idx 1: Power supply xname ID 'toaster' is invalid"
    assert hsm.refusal("POST", MAPS, [good, {**good, "poweredBy": ["toaster"]}]) == (400, detail)
    assert hsm.refusal("POST", MAPS, [good, {"id": "x0"}]) == (400, "poweredby is required for PowerMaps")
    assert hsm.refusal("PUT", f"{MAPS}/x0", {"id": "x1", "poweredBy": ["x0"]})[0] == 400
    assert hsm.refusal("POST", MAPS, {})[0] == 500
    assert hsm.read(MAPS) == []
