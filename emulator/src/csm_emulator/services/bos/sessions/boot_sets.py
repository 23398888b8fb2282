"""Validation of boot sets, when a template is written and when a session is created from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import Enum

from csm_emulator.records import Record
from csm_emulator.services.bos.boot_images import INITRD, KERNEL, PARAMETERS, Images, image_id
from csm_emulator.services.bos.clients import Neighbours
from csm_emulator.services.bos.failures import Failure
from csm_emulator.services.bos.options import Options

NODE_FIELDS = ("node_list", "node_groups", "node_roles_groups")
_IMAGE_ARCH = {"ARM": "aarch64", "Unknown": "x86_64", "X86": "x86_64"}
_SPECIFIERS = "frozenset({'node_list', 'node_roles_groups', 'node_groups'})"
_XNAME = re.compile(r"x0*(\d+)c0*(\d+)s0*(\d+)b0*(\d+)n0*(\d+)")


class Verdict(Enum):
    GOOD = 0
    WARNING = 1
    ERROR = 2


class BootSetError(Failure):
    def __init__(self, message: str) -> None:
        super().__init__("bos.server.controllers.v2.boot_set.exceptions.BootSetError", message)


class BootSetWarning(Failure):
    def __init__(self, message: str) -> None:
        super().__init__("bos.server.controllers.v2.boot_set.exceptions.BootSetWarning", message)


class BootSets:
    def __init__(self, options: Options, images: Images, neighbours: Neighbours) -> None:
        self._options = options
        self._images = images
        self._neighbours = neighbours

    # When a session is created

    def validate(self, template: Record, operation: str, name: str) -> tuple[Verdict, str]:
        if not template.get("boot_sets"):
            return Verdict.ERROR, f"Session template '{name}' requires at least 1 boot set."
        warnings = []
        for set_name, boot_set in template["boot_sets"].items():
            where = f"Session template: '{name}' boot set: '{set_name}'"
            try:
                warnings += [f"{where}: {warning}" for warning in self._warnings(boot_set, operation)]
            except BootSetError as error:
                return Verdict.ERROR, f"{where}: {error}"
        return (Verdict.WARNING, "; ".join(warnings)) if warnings else (Verdict.GOOD, "Valid")

    def _warnings(self, boot_set: Record, operation: str) -> Iterator[str]:
        """Warnings about the boot set; raises ``BootSetError``."""
        _check_node_fields(boot_set)
        checks: list[Callable[[Record], None]] = [_check_provider, self._check_nids]
        if operation != "shutdown":
            checks += [self._check_artefacts, self._check_arch]
        for check in checks:
            try:
                check(boot_set)
            except BootSetWarning as warning:
                yield str(warning)

    # When a template is written

    def normalise(self, boot_sets: Record) -> Record:
        """The boot sets as they are stored; raises ``Failure`` for invalid ones."""
        if not boot_sets:
            raise BootSetError("Session templates must contain at least one boot set")
        return {name: self._normalise_one(name, boot_set) for name, boot_set in boot_sets.items()}

    def _normalise_one(self, name: str, boot_set: Record) -> Record:
        if boot_set.get("name", name) != name:
            raise BootSetError(
                f"boot_sets key ({name}) does not match 'name' field of corresponding boot set ({boot_set['name']})"
            )
        result = without_empty_cfs({"arch": "X86", **boot_set, "name": name})
        self._check_arch_errors(result)
        try:
            _check_node_fields(result)
            self._check_nid_errors(result)
        except BootSetError as error:
            raise BootSetError(f"Boot set {name}: {error}") from None
        if "node_list" in result:
            result["node_list"] = [canonical(node) for node in result["node_list"]]
        return result

    def _check_arch_errors(self, boot_set: Record) -> None:
        try:
            self._check_arch(boot_set)
        except BootSetWarning:
            pass
        except Failure as failure:
            raise BootSetError(failure.qualified_message) from None

    def _check_nid_errors(self, boot_set: Record) -> None:
        with suppress(BootSetWarning):
            self._check_nids(boot_set)

    # Checks

    def _check_nids(self, boot_set: Record) -> None:
        if any(node[:3] == "nid" for node in boot_set.get("node_list", ())):
            kind = BootSetError if self._options.flag("reject_nids") else BootSetWarning
            raise kind("Has NID in 'node_list'")

    def _check_artefacts(self, boot_set: Record) -> None:
        try:
            image = self._images.read(boot_set)
        except Failure as failure:
            raise BootSetError(f"Can't find boot artifacts. Error: {failure.qualified_message}") from None
        try:
            self._images.require_object(image.artefact(KERNEL))
        except Failure as failure:
            raise BootSetError(f"Can't find kernel in {image.url}. Error: {failure.qualified_message}") from None
        for name, kind in (("initrd", INITRD), ("boot_parameters", PARAMETERS)):
            artefact = image.find(kind)
            if artefact is None:
                if kind == PARAMETERS:
                    continue
                raise BootSetWarning(f"{image.url} doesn't contain a {name}")
            try:
                self._images.require_object(artefact)
            except Failure as failure:
                raise BootSetWarning(
                    f"Unable to check {name} in {image.url}. Warning: {failure.qualified_message}"
                ) from None

    def _check_arch(self, boot_set: Record) -> None:
        """Check that the IMS image has the boot set's architecture."""
        image = image_id(boot_set["path"])
        if image is None:
            message = f"Boot artifact S3 URL '{boot_set['path']}' doesn't follow convention for IMS images"
            raise BootSetWarning(message)
        boot_set_arch = boot_set.get("arch", "X86")
        record = self._image(image, boot_set_arch)
        if boot_set_arch == "Other":
            raise BootSetWarning("Can't validate boot image arch: Boot set arch set to 'Other'")
        image_arch = record.get("arch") or "x86_64"
        if image_arch != _IMAGE_ARCH[boot_set_arch]:
            raise BootSetError(
                f"Boot set arch '{boot_set_arch}' means IMS image arch should be '{_IMAGE_ARCH[boot_set_arch]}',"
                f" but actual IMS image arch is '{image_arch}'"
            )

    def _image(self, image: str, arch: str) -> Record:
        try:
            record = self._neighbours.image(image)
        except Failure as failure:
            if self._options.flag("ims_errors_fatal"):
                raise BootSetError(failure.qualified_message) from None
            prefix = "" if arch == "Other" else "Can't validate boot image arch: "
            raise BootSetWarning(f"{prefix}{failure}") from None
        if record is None:
            kind = BootSetError if self._options.flag("ims_images_must_exist") else BootSetWarning
            raise kind(f"IMS image id '{image}' does not exist in IMS")
        return record


def _check_node_fields(boot_set: Record) -> None:
    if not any(name in boot_set for name in NODE_FIELDS):
        raise BootSetError(f"No hardware specifier fields ({_SPECIFIERS})")
    if not any(boot_set.get(name) for name in NODE_FIELDS):
        raise BootSetError(f"No non-empty hardware specifier fields ({_SPECIFIERS})")


def _check_provider(boot_set: Record) -> None:
    provider = boot_set.get("rootfs_provider", "sbps")
    if provider != "sbps":
        raise BootSetWarning(f"Unsupported rootfs_provider ('{provider}') will cause boot/reboot sessions to fail")


def canonical(xname: str) -> str:
    """The xname in lower case, without leading zeros."""
    return _XNAME.sub(r"x\1c\2s\3b\4n\5", xname.lower())


def without_empty_cfs(record: Record) -> Record:
    """The record without its ``cfs`` field when that holds no configuration."""
    if "cfs" in record and not (record["cfs"] or {}).get("configuration"):
        return {name: value for name, value in record.items() if name != "cfs"}
    return dict(record)
