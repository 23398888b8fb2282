"""The image and recipe records that IMS has at the start."""

from __future__ import annotations

from csm_emulator.machine.parts import Topology
from csm_emulator.records import Record
from csm_emulator.seed_data.images import images, recipes
from csm_emulator.services.ims.tables import stamp
from csm_emulator.state.random import SeededRandom


def seed_images(topology: Topology, random: SeededRandom) -> dict[str, Record]:
    return {
        image.id: {
            "id": image.id,
            "created": stamp(image.created),
            "name": image.name,
            "link": image.link,
            "arch": image.arch,
            "metadata": {},
        }
        for image in images(topology, random)
    }


def seed_recipes(topology: Topology, random: SeededRandom) -> dict[str, Record]:
    return {
        recipe.id: {
            "id": recipe.id,
            "created": stamp(recipe.created),
            "name": recipe.name,
            "link": recipe.link,
            "recipe_type": recipe.recipe_type,
            "linux_distribution": recipe.linux_distribution,
            "template_dictionary": [],
            "require_dkms": False,
            "arch": recipe.arch,
        }
        for recipe in recipes(topology, random)
    }
