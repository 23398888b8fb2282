"""The records that the session runner reads and writes."""

from __future__ import annotations

from typing import Any

import pytest

from services.cfs.cfs_client import NODE, OLD, OTHER, URL, Cfs


def session(cfs: Cfs, configuration: str, limit: str = "") -> dict[str, Any]:
    body = {"name": "s", "configuration_name": configuration, "configuration_limit": limit}
    cfs.do("POST", "/v3/sessions", body)
    record = cfs.records.session("s")
    assert record is not None
    return record


@pytest.mark.parametrize(
    ("limit", "places"),
    [
        ("", ["0", "1", "2"]),
        ("2,0", ["0", "2"]),
        ("1,7", ["1"]),
        ("99999999999999999999", []),
        ("first,third", ["0", "2"]),
        ("0,third", ["2"]),
    ],
)
def test_the_layers_of_a_session(cfs: Cfs, limit: str, places: list[str]) -> None:
    names = {"one": "first", "two": "second", "three": "third"}
    layers = [
        {"name": name, "clone_url": URL.format(repo), "playbook": "site.yml", "commit": OLD}
        for repo, name in names.items()
    ]
    cfs.do("PUT", "/v3/configurations/c", {"layers": layers})
    session_layers = cfs.records.layers(session(cfs, "c", limit))
    assert [layer["layer"] for layer in session_layers] == places
    for layer in session_layers:
        assert layer == {**layers[int(layer["layer"])], "special_parameters": {}, "layer": layer["layer"]}


def test_layers_that_are_built_in_or_gone(cfs: Cfs) -> None:
    record = session(cfs, "debug_noop")
    assert [(layer["clone_url"], layer["playbook"]) for layer in cfs.records.layers(record)] == [("", "noop.yaml")]
    assert cfs.records.additional_inventory(record) is None
    with pytest.raises(LookupError):
        cfs.records.layers({"configuration": {"name": "gone", "limit": ""}})


def test_the_inventory_is_that_of_the_configuration_or_of_the_options(cfs: Cfs) -> None:
    cfs.configure("c", "one")
    record = session(cfs, "c")
    assert cfs.records.additional_inventory(record) is None
    cfs.do("PATCH", "/v3/options", {"additional_inventory_url": "u"})
    assert (cfs.records.additional_inventory(record) or {})["clone_url"] == "u"
    credentials = {"username": "u", "password": "p"}
    cfs.do("POST", "/v3/sources", {"name": "s", "clone_url": "of-source", "credentials": credentials})
    cfs.do("PATCH", "/v3/options", {"additional_inventory_source": "s"})
    assert (cfs.records.additional_inventory(record) or {})["clone_url"] == "of-source"
    own = {"clone_url": URL.format("two"), "commit": OLD}
    cfs.do("PUT", "/v3/configurations/c", {"layers": [], "additional_inventory": own})
    assert (cfs.records.additional_inventory(record) or {}).items() >= own.items()


def test_reports_of_ansible(cfs: Cfs) -> None:
    cfs.configure("c", "one")
    cfs.set_desired("c", NODE, OTHER)
    layer = cfs.records.layers(session(cfs, "c"))[0]
    cfs.records.append_state([NODE, OTHER, "missing"], layer, "failed", "s")
    cfs.records.append_state([NODE], layer, "failed", "s")
    cfs.records.append_state([OTHER], layer, "incomplete", "s")
    assert "missing" not in cfs.nodes()
    components = cfs.records.components([NODE, OTHER, "missing"])
    assert [record["error_count"] for record in components.values()] == [2, 1]
    assert cfs.status(OTHER) == "pending"
    cfs.records.append_state([NODE], layer, "failed", "s")
    assert cfs.status(NODE) == "failed"
    cfs.records.append_state([NODE, OTHER], layer, "applied", "s")
    assert [cfs.status(xname) for xname in (NODE, OTHER)] == ["configured", "configured"]
    assert (
        cfs.get(f"/v3/components/{NODE}?state_details=true").items()
        >= {
            "error_count": 0,
            "state": [
                {
                    "clone_url": URL.format("one"),
                    "playbook": "site.yml",
                    "commit": OLD,
                    "status": "applied",
                    "session_name": "s",
                    "last_updated": "2027-01-15T08:00:00Z",
                }
            ],
        }.items()
    )


def test_what_is_not_there(cfs: Cfs) -> None:
    cfs.records.change_session("none", status="running")
    cfs.records.add_artifact("none", {})
    assert cfs.records.session("none") is None
    assert cfs.records.component("none") is None
    assert cfs.records.credentials("none") is None
    assert cfs.records.options()["batch_size"] == 25
