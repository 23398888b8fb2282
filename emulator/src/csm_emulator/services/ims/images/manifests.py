"""An image's manifest: the list of its files in S3."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from csm_emulator.dialects.connexion import Refused
from csm_emulator.records import Json, Record
from csm_emulator.services.ims.images.artifacts import ArtifactMissing, Artifacts
from csm_emulator.services.ims.responses import internal_error, problem

ROOTFS = "application/vnd.cray.image.rootfs.squashfs"
VERSION = "1.0"
_MAX_SIZE = 1 << 20
_MALFORMED = "The image's manifest.json is malformed. "
_RERUN = (
    "Determine the specific information that is missing or invalid and then re-run the request with valid information."
)


class UnreadableManifest(Exception):
    """The manifest is missing or is not JSON."""


def read_manifest(artifacts: Artifacts, link: Json) -> Json:
    data = artifacts.read(link)
    if data is not None and len(data) >= _MAX_SIZE:
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
        raise UnreadableManifest(_unreadable_message("Unable to read manifest file", link))
    try:
        return json.loads(text)
    except ValueError:
        raise UnreadableManifest(_unreadable_message("Manifest file is not valid Json", link)) from None
    except RecursionError:
        raise internal_error() from None


def _unreadable_message(what: str, link: Json) -> str:
    return f"{what} for the s3 artifact {link}. Please {_RERUN[0].lower()}{_RERUN[1:]}"


def entries(manifest: Json) -> list[Json]:
    """The list of artifacts; raises ``KeyError`` when it is missing, ``TypeError`` when it is not a list."""
    artifacts = manifest["artifacts"]
    if not isinstance(artifacts, list):
        raise TypeError
    return artifacts


def entries_with_link(manifest: Json) -> list[Record]:
    """The entries that have a link."""
    return [entry for entry in entries(manifest) if isinstance(entry, dict) and entry.get("link")]


def rootfs_entries(artifacts: Iterable[Json]) -> list[Record]:
    """The entries of root file systems. Raises ``KeyError`` or ``TypeError`` for an entry without a type."""
    matches = []
    for artifact in artifacts:
        kind = artifact["type"]
        if not isinstance(kind, str):
            raise internal_error()
        if kind.startswith(ROOTFS):
            matches.append(artifact)
    return matches


def check_image_link(artifacts: Artifacts, link: Json, images: Iterable[Record]) -> None:
    """Check that an image may have this link; raises ``Refused`` and ``UnreadableManifest``."""
    _check_unique(link, images)
    try:
        artifacts.validate(link)
    except ArtifactMissing as missing:
        raise problem(422, str(missing)) from None
    manifest = read_manifest(artifacts, link)
    if not manifest:
        return
    if not isinstance(manifest, dict):
        raise internal_error()
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
        file_systems = rootfs_entries(manifest["artifacts"])
    except KeyError:
        raise _malformed("An artifact does not have a type field") from None
    if not file_systems:
        raise _unusable(f"IMS {link}", "does not include any rootfs artifacts")
    if len(file_systems) > 1:
        raise _unusable(str(link), "includes multiple rootfs artifacts")


def _check_entry(artifacts: Artifacts, artifact: Json) -> None:
    if not isinstance(artifact, dict):
        raise _malformed("A listed artifact is not a json dictionary.")
    if "link" not in artifact:
        raise _malformed("An artifact does not have a link value")
    link = artifact["link"]
    if not isinstance(link, dict):
        raise internal_error()
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


def _unusable(subject: str, problem_text: str) -> Refused:
    return problem(400, f"Error reading the manifest.json for {subject}. The manifest {problem_text}. {_RERUN}")


def find_rootfs(manifest: Json, image_id: str) -> Record:
    """The image's only root file system, which a job starts from."""
    corrupt = problem(
        400,
        f"The manifest.json file is corrupt or invalid for IMS image_id={image_id}. Could not determine the manifest "
        f"version or manifest version is unsupported. {_RERUN}",
    )
    if not isinstance(manifest, dict) or manifest.get("version") != VERSION:
        raise corrupt
    try:
        file_systems = rootfs_entries(entries(manifest))
    except (KeyError, TypeError):
        raise corrupt from None
    if not file_systems:
        raise _unusable(f"IMS image_id={image_id}", "does not include any rootfs artifacts")
    if len(file_systems) > 1:
        raise _unusable(f"IMS image_id={image_id}", "includes multiple rootfs artifacts")
    if not file_systems[0].get("link"):
        raise problem(
            400,
            f"The rootfs referenced in the manifest.json for ims_image_id={image_id} does not have a artifact link. "
            f"Please {_RERUN[0].lower()}{_RERUN[1:]}",
        )
    return file_systems[0]
