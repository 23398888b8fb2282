"""The initial objects of a site's S3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from csm_emulator.machine.parts import Topology
from csm_emulator.seed_data.buckets import BOOT_IMAGES, IMS
from csm_emulator.seed_data.images import images, recipes
from csm_emulator.state.random import SeededRandom


@dataclass(frozen=True, slots=True)
class SeedObject:
    """An initial object."""

    data: bytes
    media: str
    created: int


def first_objects(topology: Topology, random: SeededRandom) -> Mapping[tuple[str, str], SeedObject]:
    """The initial objects by bucket and key."""
    objects: dict[tuple[str, str], SeedObject] = {}
    for image in images(topology, random):
        for artefact in image.artefacts:
            objects[BOOT_IMAGES, artefact.key] = SeedObject(artefact.data, artefact.media, image.created)
        objects[BOOT_IMAGES, image.manifest_key] = SeedObject(image.manifest, "application/json", image.created)
    for recipe in recipes(topology, random):
        objects[IMS, recipe.key] = SeedObject(recipe.data, "application/gzip", recipe.created)
    return objects
