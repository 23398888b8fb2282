"""The files of a deleted image: permanent deletion, or a move under ``deleted/`` and back."""

from __future__ import annotations

import json
from contextlib import suppress

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.seed_data.buckets import BOOT_IMAGES
from csm_emulator.services.ims.images.artifacts import DELETED, ArtifactMissing, Artifacts, NotDeleted
from csm_emulator.services.ims.images.manifests import VERSION, entries, entries_with_link, read_manifest
from csm_emulator.services.ims.responses import problem
from csm_emulator.transport.s3_client import S3Unavailable

MANIFEST = "application/vnd.cray.image.manifest"


def delete_files(artifacts: Artifacts, link: Json) -> None:
    """Delete the files. Raises ``UnreadableManifest``; ``KeyError`` or ``TypeError`` if the manifest has no list."""
    for entry in entries_with_link(read_manifest(artifacts, link)):
        with suppress(Refused):
            artifacts.delete(entry["link"])
    artifacts.delete(link)


def soft_delete_files(artifacts: Artifacts, image: Record) -> Json:
    """Move the files; return the link to a manifest of them. Raises ``UnreadableManifest`` and ``ArtifactMissing``."""
    moved = _move_files(artifacts, image["link"])
    manifest = {"version": VERSION, "created": image["deleted"][:19].replace("T", " "), "artifacts": moved}
    key = f"{DELETED}/{image['id']}/deleted_manifest.json"
    with suppress(S3Unavailable):
        artifacts.s3.put(BOOT_IMAGES, key, json.dumps(manifest).encode())
    return {"path": f"s3://{BOOT_IMAGES}/{key}", "type": image["link"]["type"]}


def _move_files(artifacts: Artifacts, link: Json) -> list[Record] | None:
    try:
        manifest = read_manifest(artifacts, link)
    except Refused as refusal:
        if refusal.reply.status >= 500:
            raise
        return None
    moved: list[Record] = []
    with suppress(KeyError):
        entries(manifest)
        for entry in entries_with_link(manifest):
            # An entry without an MD5 sum is moved but not listed, so it is not restored later.
            with suppress(ArtifactMissing, Refused, KeyError):
                new_link = artifacts.soft_delete(entry["link"])
                if new_link:
                    moved.append({"type": entry["type"], "md5": entry["md5"], "link": new_link})
    if manifest_link := artifacts.soft_delete(link):
        moved.append({"type": MANIFEST, "link": manifest_link})
    return moved


def restore_files(artifacts: Artifacts, link: Json) -> Json:
    """Move the files back; return the link to the image's own manifest. Raises ``UnreadableManifest``."""
    manifest = read_manifest(artifacts, link)
    try:
        linked_entries = entries_with_link(manifest)
    except KeyError:
        raise problem(
            422,
            "The image's manifest.json is malformed. The manifest does not contain an artifacts section.",
        ) from None
    original = link
    for entry in linked_entries:
        with suppress(ArtifactMissing, NotDeleted, Refused, KeyError):
            restored_link = artifacts.undelete(entry["link"])
            if entry["type"] == MANIFEST:
                original = restored_link
    if original != link:
        artifacts.delete(link)
    return original
