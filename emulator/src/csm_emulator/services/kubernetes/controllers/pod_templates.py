"""Templates of pods: what runs in the pods that are made from them."""

from __future__ import annotations

from collections.abc import Iterator

from csm_emulator.cluster.pods import Container
from csm_emulator.services.kubernetes.kinds.kinds import Json


def containers_of(template: Json) -> Iterator[Container]:
    spec = template.get("spec") or {}
    for field, init in (("initContainers", True), ("containers", False)):
        for one in spec.get(field) or ():
            yield Container(str(one.get("name")), str(one.get("image", "")), init)
