"""Everything that lies in S3 on a site's first day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from csm_emulator.machine.parts import Topology
from csm_emulator.seed_data.buckets import BOOT_IMAGES, IMS
from csm_emulator.seed_data.images import images, recipes
from csm_emulator.state.random import SeededRandom


@dataclass(frozen=True, slots=True)
class SeedObject:
    """What lies in a bucket on the first day."""

    data: bytes
    media: str
    created: int


def first_objects(topology: Topology, random: SeededRandom) -> Mapping[tuple[str, str], SeedObject]:
    """By bucket and key, everything that lies in S3 on the first day."""
    objects: dict[tuple[str, str], SeedObject] = {}
    for image in images(topology, random):
        for artefact in image.artefacts:
            objects[BOOT_IMAGES, artefact.key] = SeedObject(artefact.data, artefact.media, image.created)
        objects[BOOT_IMAGES, image.manifest_key] = SeedObject(image.manifest, "application/json", image.created)
    for recipe in recipes(topology, random):
        objects[IMS, recipe.key] = SeedObject(recipe.data, "application/gzip", recipe.created)
    return objects
