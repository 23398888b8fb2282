"""Pod templates: the containers that they describe."""

from __future__ import annotations

from collections.abc import Iterator

from csm_emulator.cluster.pods import Container
from csm_emulator.records import Json


def containers_of(template: Json) -> Iterator[Container]:
    spec = template.get("spec") or {}
    for field, init in (("initContainers", True), ("containers", False)):
        for container in spec.get(field) or ():
            yield Container(str(container.get("name")), str(container.get("image", "")), init)
