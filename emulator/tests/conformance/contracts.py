"""HPE's OpenAPI files of the services, as they are published, from the folder ``SPECS``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml

from specs import SPECS

ROOT = Path(__file__).parents[2]
METHODS = ("get", "put", "post", "patch", "delete")
ABSENT = f"HPE's OpenAPI files are not at {SPECS}: conformance to them is not shown here"


@dataclass(frozen=True, slots=True)
class Contract:
    """One OpenAPI file, and the prefix of its paths at the service."""

    service: str
    file: str
    prefix: str


CONTRACTS = (
    Contract("smd", "hsm-smd-v2.swagger.yaml", "/hsm/v2"),
    Contract("sls", "sls-v1.openapi.yaml", "/v1"),
    Contract("bss", "bss-v1.swagger.yaml", ""),
    Contract("pcs", "pcs-v1.swagger.yaml", "/v1"),
    Contract("capmc", "capmc-v1.swagger.yaml", "/capmc/v1"),
    Contract("hbtd", "hbtd-v1.openapi.yaml", "/hmi/v1"),
    Contract("scsd", "scsd-v1.openapi.yaml", "/v1"),
    Contract("fas", "fas-v1.swagger.yaml", ""),
    Contract("bos", "bos-v2.openapi.yaml", ""),
    Contract("cfs", "cfs-v2-v3.openapi.yaml", ""),
    Contract("ims", "ims-v2-v3.openapi.yaml", ""),
    Contract("sts", "sts-v1.openapi.yaml", ""),
    Contract("tapms", "tapms-v1alpha3.openapi.yaml", ""),
    Contract("vnid", "vnid-v2.openapi.yaml", "/fabric"),
    Contract("fabric-manager", "slingshot-fabric-manager.RECONSTRUCTED.openapi.yaml", ""),
    Contract("console-operator", "console-services.RECONSTRUCTED.openapi.yaml", ""),
)


@dataclass(frozen=True, slots=True)
class Operation:
    service: str
    method: str
    path: str
    """The path at the service."""
    summary: str
    example_path: str
    """The path, with a value for each parameter that has an enum."""


class _Loader(yaml.CSafeLoader):
    """YAML 1.2: HPE writes ``on`` and ``off`` in enums, and times in examples, as words."""


_NOT_OF_1_2 = frozenset({"tag:yaml.org,2002:bool", "tag:yaml.org,2002:timestamp"})
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _NOT_OF_1_2]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile("^(?:true|True|false|False)$"), list("tTfF"))


def here() -> bool:
    return all((SPECS / contract.file).is_file() for contract in CONTRACTS)


@cache
def description(contract: Contract) -> dict[str, Any]:
    with (SPECS / contract.file).open() as file:
        document: dict[str, Any] = yaml.load(file, _Loader)  # noqa: S506 (a safe loader with fewer booleans)
    return document


def operations(contract: Contract) -> Iterator[Operation]:
    for path in description(contract)["paths"]:
        item = _item(description(contract)["paths"], path)
        for method in METHODS:
            if method in item:
                summary = " ".join(str(item[method].get("summary", "")).split())
                example_path = _with_enums(path, item[method].get("parameters", ()), description(contract))
                yield Operation(
                    contract.service, method.upper(), contract.prefix + path, summary, contract.prefix + example_path
                )


def _item(paths: Mapping[str, Any], path: str) -> Mapping[str, Any]:
    """The path's operations; an old path of IMS is a reference to another path of the same file."""
    item: Mapping[str, Any] = paths[path]
    if "$ref" not in item:
        return item
    return _item(paths, unquote(item["$ref"].removeprefix("#/paths/")).replace("~1", "/").replace("~0", "~"))


def _with_enums(path: str, parameters: Iterable[Mapping[str, Any]], whole: Mapping[str, Any]) -> str:
    for parameter in parameters:
        schema_name = parameter.get("schema", {}).get("$ref", "").rpartition("/")[2]
        words = whole.get("components", {}).get("schemas", {}).get(schema_name, parameter).get("enum")
        if parameter.get("in") == "path" and words:
            path = path.replace(f"{{{parameter['name']}}}", words[0])
    return path
