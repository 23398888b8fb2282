"""What deleting an image does to its files: they go, or they are put under ``deleted/`` and come back from there."""

from __future__ import annotations

import json
from contextlib import suppress

from csm_emulator.clients.s3 import S3Unavailable
from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.seed_data.buckets import BOOT_IMAGES
from csm_emulator.services.ims.images.artifacts import DELETED, ArtifactMissing, Artifacts, NotDeleted
from csm_emulator.services.ims.images.manifests import VERSION, entries, linked, read_manifest
from csm_emulator.services.ims.responses import problem

MANIFEST = "application/vnd.cray.image.manifest"


def delete_files(artifacts: Artifacts, link: Json) -> None:
    """For good. Raises ``Unreadable``, and ``KeyError`` or ``TypeError`` for a manifest without a list."""
    for entry in linked(read_manifest(artifacts, link)):
        with suppress(Refused):
            artifacts.delete(entry["link"])
    artifacts.delete(link)


def put_under_deleted(artifacts: Artifacts, image: Record) -> Json:
    """The link to a manifest of what was moved. Raises ``Unreadable`` and ``ArtifactMissing``."""
    moved = _move_away(artifacts, image["link"])
    manifest = {"version": VERSION, "created": image["deleted"][:19].replace("T", " "), "artifacts": moved}
    key = f"{DELETED}/{image['id']}/deleted_manifest.json"
    with suppress(S3Unavailable):
        artifacts.s3.put(BOOT_IMAGES, key, json.dumps(manifest).encode())
    return {"path": f"s3://{BOOT_IMAGES}/{key}", "type": image["link"]["type"]}


def _move_away(artifacts: Artifacts, link: Json) -> list[Record] | None:
    try:
        manifest = read_manifest(artifacts, link)
    except Refused as refusal:
        if refusal.reply.status >= 500:
            raise
        return None
    moved: list[Record] = []
    with suppress(KeyError):
        entries(manifest)
        for entry in linked(manifest):
            # An entry without a sum is moved, and then not named: it does not come back.
            with suppress(ArtifactMissing, Refused, KeyError):
                found = artifacts.soft_delete(entry["link"])
                if found:
                    moved.append({"type": entry["type"], "md5": entry["md5"], "link": found})
    if own := artifacts.soft_delete(link):
        moved.append({"type": MANIFEST, "link": own})
    return moved


def bring_back(artifacts: Artifacts, link: Json) -> Json:
    """The link to the image's own manifest. Raises ``Unreadable``."""
    manifest = read_manifest(artifacts, link)
    try:
        found = linked(manifest)
    except KeyError:
        raise problem(
            422,
            "The image's manifest.json is malformed. The manifest does not contain an artifacts section.",
        ) from None
    original = link
    for entry in found:
        with suppress(ArtifactMissing, NotDeleted, Refused, KeyError):
            back = artifacts.undelete(entry["link"])
            if entry["type"] == MANIFEST:
                original = back
    if original != link:
        artifacts.delete(link)
    return original
