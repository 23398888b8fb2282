"""Replies match the description that was reconstructed from the code of public clients."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from csm_emulator.transport.routes import Router
from machine.fabric.network import ONE, THREE
from services.fabric_manager.manager import POLICIES, Manager
from specs import SPECS

FILE = SPECS / "slingshot-fabric-manager.RECONSTRUCTED.openapi.yaml"
pytestmark = pytest.mark.skipif(not FILE.is_file(), reason=f"no {FILE}")


def description() -> dict[str, Any]:
    description: dict[str, Any] = yaml.safe_load(FILE.read_text())
    return description


def validator(name: str) -> Draft202012Validator:
    """A validator of one schema, which allows only the properties of the schema and of the envelope."""
    schemas = description()["components"]["schemas"]
    for schema in schemas.values():
        for part in schema.pop("allOf", ()):
            schema["properties"] = {**schemas[part["$ref"].rpartition("/")[2]]["properties"], **schema["properties"]}
    closed_schema = {**schemas[name], "additionalProperties": False, "components": {"schemas": schemas}}
    return Draft202012Validator(closed_schema)


def test_every_operation_is_there(manager: Manager) -> None:
    router = Router(manager.site.services["fabric-manager"].routes)
    count = 0
    for path, item in description()["paths"].items():
        for method in {"get", "post", "patch", "delete"} & set(item):
            count += 1
            assert method.upper() in router.find(path)[0], f"{method} {path}"
    assert count == 32


def test_replies_are_as_described(manager: Manager) -> None:
    blue = manager.make_vlan(2, "blue")
    task = manager.make_block("blue", ["2000-2099"], ONE, THREE)
    manager.give(ONE, blue)
    replies = {
        "Switch": ["/fabric/switches/x1000c0r3b0"],
        "Port": [f"/fabric/ports/{manager.port(ONE)}", "/fabric/ports/x1000c0r3j9p0"],
        "PortPolicy": [blue, *manager.get(POLICIES)["documentLinks"]],
        "Vlan": ["/fabric/vlans/1", "/fabric/vlans/2"],
        "VniPartition": ["/fabric/vni/partitions/blue"],
        "VniBlock": ["/fabric/vni/blocks/blue-block"],
        "VniBlockTask": [task],
        "LinkList": ["/fabric/switches", "/fabric/ports", POLICIES, "/fabric/vlans", "/fabric/vni/partitions"],
    }
    for name, links in replies.items():
        check = validator(name)
        for link in links:
            document = manager.get(link)
            assert [error.message for error in check.iter_errors(document)] == [], link
            assert document.get("documentSelfLink", link) == link
