"""An image's manifest: the list of its files in S3."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts
from csm_emulator.services.ims.responses import crashed, problem

ROOTFS = "application/vnd.cray.image.rootfs.squashfs"
VERSION = "1.0"
_LARGEST = 1 << 20
_MALFORMED = "The image's manifest.json is malformed. "
_RERUN = (
    "Determine the specific information that is missing or invalid and then re-run the request with valid information."
)


class Unreadable(Exception):
    """It is not there, or no JSON."""


def read_manifest(artifacts: Artifacts, link: Json) -> Json:
    data = artifacts.read(link)
    if data is not None and len(data) >= _LARGEST:
        raise problem(
            400,
            f"Image manifest file is larger than the expected maximum size for the s3 artifact {link}. "
            f"Please {_RERUN[0].lower()}{_RERUN[1:]}",
        )
    try:
        text = data.decode() if data is not None else None
    except UnicodeDecodeError:
        text = None
    if text is None:
        raise Unreadable(_told("Unable to read manifest file", link))
    try:
        return json.loads(text)
    except ValueError:
        raise Unreadable(_told("Manifest file is not valid Json", link)) from None
    except RecursionError:
        raise crashed() from None


def _told(what: str, link: Json) -> str:
    return f"{what} for the s3 artifact {link}. Please {_RERUN[0].lower()}{_RERUN[1:]}"


def entries(manifest: Json) -> list[Json]:
    """The artifacts; raises ``KeyError`` when there are none, ``TypeError`` when it is no list."""
    found = manifest["artifacts"]
    if not isinstance(found, list):
        raise TypeError
    return found


def linked(manifest: Json) -> list[Record]:
    """Those that have a link."""
    return [entry for entry in entries(manifest) if isinstance(entry, dict) and entry.get("link")]


def rootfs_of(artifacts: Iterable[Json]) -> list[Record]:
    """Raises ``KeyError`` for an artifact without a type, ``TypeError`` for what is none."""
    found = []
    for artifact in artifacts:
        kind = artifact["type"]
        if not isinstance(kind, str):
            raise crashed()
        if kind.startswith(ROOTFS):
            found.append(artifact)
    return found


def check_image_link(artifacts: Artifacts, link: Json, images: Iterable[Record]) -> None:
    """Whether an image may have this link; raises ``Unreadable`` too."""
    _check_unique(link, images)
    try:
        artifacts.validate(link)
    except ArtifactMissing as missing:
        raise problem(422, str(missing)) from None
    manifest = read_manifest(artifacts, link)
    if not manifest:
        return
    if not isinstance(manifest, dict):
        raise crashed()
    if "version" not in manifest:
        raise problem(422, "The image's manifest.json does not contain a version field.")
    if manifest["version"] != VERSION:
        raise problem(
            422,
            "The image's manifest.json has a version that is not supported. "
            f"Supported image manifest versions are: {VERSION}",
        )
    _check_entries(artifacts, manifest, link)


def _check_unique(link: Mapping[str, Json], images: Iterable[Record]) -> None:
    for record in images:
        if record["link"] and record["link"]["path"] == link["path"]:
            raise problem(
                422,
                f"The link path {link['path']} matches the link path for the IMS image record {record['id']}. The "
                f"link value must be unique and cannot be duplicated. {_RERUN}",
            )


def _check_entries(artifacts: Artifacts, manifest: Record, link: Json) -> None:
    if "artifacts" not in manifest:
        raise _malformed("It does not contain an artifacts map.")
    if not isinstance(manifest["artifacts"], list):
        raise _malformed("The artifacts property is not a json list.")
    for artifact in manifest["artifacts"]:
        _check_entry(artifacts, artifact)
    try:
        found = rootfs_of(manifest["artifacts"])
    except KeyError:
        raise _malformed("An artifact does not have a type field") from None
    if not found:
        raise _unusable(f"IMS {link}", "does not include any rootfs artifacts")
    if len(found) > 1:
        raise _unusable(str(link), "includes multiple rootfs artifacts")


def _check_entry(artifacts: Artifacts, artifact: Json) -> None:
    if not isinstance(artifact, dict):
        raise _malformed("A listed artifact is not a json dictionary.")
    if "link" not in artifact:
        raise _malformed("An artifact does not have a link value")
    link = artifact["link"]
    if not isinstance(link, dict):
        raise crashed()
    if "type" not in link:
        raise _malformed("An artifact does not have a link type field")
    if link["type"] != "s3":
        raise _malformed(f"An artifact link type '{link['type']}' not supported")
    if "path" not in link:
        raise _malformed("An artifact does not have a link path field")
    try:
        artifacts.validate(link)
    except ArtifactMissing as missing:
        raise problem(422, str(missing)) from None


def _malformed(what: str) -> Refused:
    return problem(422, _MALFORMED + what)


def _unusable(whose: str, what: str) -> Refused:
    return problem(400, f"Error reading the manifest.json for {whose}. The manifest {what}. {_RERUN}")


def find_rootfs(manifest: Json, image_id: str) -> Record:
    """The one file that a job goes out from."""
    corrupt = problem(
        400,
        f"The manifest.json file is corrupt or invalid for IMS image_id={image_id}. Could not determine the manifest "
        f"version or manifest version is unsupported. {_RERUN}",
    )
    if not isinstance(manifest, dict) or manifest.get("version") != VERSION:
        raise corrupt
    try:
        found = rootfs_of(entries(manifest))
    except (KeyError, TypeError):
        raise corrupt from None
    if not found:
        raise _unusable(f"IMS image_id={image_id}", "does not include any rootfs artifacts")
    if len(found) > 1:
        raise _unusable(f"IMS image_id={image_id}", "includes multiple rootfs artifacts")
    if not found[0].get("link"):
        raise problem(
            400,
            f"The rootfs referenced in the manifest.json for ims_image_id={image_id} does not have a artifact link. "
            f"Please {_RERUN[0].lower()}{_RERUN[1:]}",
        )
    return found[0]
