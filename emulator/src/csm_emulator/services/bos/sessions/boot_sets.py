"""Whether boot sets can be booted: when a template is written, and when a session is made of it."""

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

NODES_BY = ("node_list", "node_groups", "node_roles_groups")
_EXPECTED = {"ARM": "aarch64", "Unknown": "x86_64", "X86": "x86_64"}
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

    # A session is to be made

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
        """Raises ``BootSetError``."""
        _names_nodes(boot_set)
        checks: list[Callable[[Record], None]] = [_has_known_provider, self._names_no_nids]
        if operation != "shutdown":
            checks += [self._has_artefacts, self._is_of_its_kind]
        for check in checks:
            try:
                check(boot_set)
            except BootSetWarning as warning:
                yield str(warning)

    # A template is written

    def tidied(self, boot_sets: Record) -> Record:
        """What is kept of them; raises ``Failure`` for what may not be."""
        if not boot_sets:
            raise BootSetError("Session templates must contain at least one boot set")
        return {name: self._tidied(name, boot_set) for name, boot_set in boot_sets.items()}

    def _tidied(self, name: str, boot_set: Record) -> Record:
        if boot_set.get("name", name) != name:
            raise BootSetError(
                f"boot_sets key ({name}) does not match 'name' field of corresponding boot set ({boot_set['name']})"
            )
        result = without_empty_cfs({"arch": "X86", **boot_set, "name": name})
        self._check_kind(result)
        try:
            _names_nodes(result)
            self._check_nids(result)
        except BootSetError as error:
            raise BootSetError(f"Boot set {name}: {error}") from None
        if "node_list" in result:
            result["node_list"] = [canonical(node) for node in result["node_list"]]
        return result

    def _check_kind(self, boot_set: Record) -> None:
        try:
            self._is_of_its_kind(boot_set)
        except BootSetWarning:
            pass
        except Failure as failure:
            raise BootSetError(failure.named) from None

    def _check_nids(self, boot_set: Record) -> None:
        with suppress(BootSetWarning):
            self._names_no_nids(boot_set)

    # Checks

    def _names_no_nids(self, boot_set: Record) -> None:
        if any(node[:3] == "nid" for node in boot_set.get("node_list", ())):
            kind = BootSetError if self._options.flag("reject_nids") else BootSetWarning
            raise kind("Has NID in 'node_list'")

    def _has_artefacts(self, boot_set: Record) -> None:
        try:
            image = self._images.read(boot_set)
        except Failure as failure:
            raise BootSetError(f"Can't find boot artifacts. Error: {failure.named}") from None
        try:
            self._images.must_be_there(image.artefact(KERNEL))
        except Failure as failure:
            raise BootSetError(f"Can't find kernel in {image.url}. Error: {failure.named}") from None
        for name, kind in (("initrd", INITRD), ("boot_parameters", PARAMETERS)):
            artefact = image.find(kind)
            if artefact is None:
                if kind == PARAMETERS:
                    continue
                raise BootSetWarning(f"{image.url} doesn't contain a {name}")
            try:
                self._images.must_be_there(artefact)
            except Failure as failure:
                raise BootSetWarning(f"Unable to check {name} in {image.url}. Warning: {failure.named}") from None

    def _is_of_its_kind(self, boot_set: Record) -> None:
        """IMS's image is of the architecture that the boot set is for."""
        image = image_id(boot_set["path"])
        if image is None:
            told = f"Boot artifact S3 URL '{boot_set['path']}' doesn't follow convention for IMS images"
            raise BootSetWarning(told)
        wanted = boot_set.get("arch", "X86")
        record = self._image(image, wanted)
        if wanted == "Other":
            raise BootSetWarning("Can't validate boot image arch: Boot set arch set to 'Other'")
        found = record.get("arch") or "x86_64"
        if found != _EXPECTED[wanted]:
            raise BootSetError(
                f"Boot set arch '{wanted}' means IMS image arch should be '{_EXPECTED[wanted]}',"
                f" but actual IMS image arch is '{found}'"
            )

    def _image(self, image: str, wanted: str) -> Record:
        try:
            record = self._neighbours.image(image)
        except Failure as failure:
            if self._options.flag("ims_errors_fatal"):
                raise BootSetError(failure.named) from None
            doubt = "" if wanted == "Other" else "Can't validate boot image arch: "
            raise BootSetWarning(f"{doubt}{failure}") from None
        if record is None:
            kind = BootSetError if self._options.flag("ims_images_must_exist") else BootSetWarning
            raise kind(f"IMS image id '{image}' does not exist in IMS")
        return record


def _names_nodes(boot_set: Record) -> None:
    if not any(name in boot_set for name in NODES_BY):
        raise BootSetError(f"No hardware specifier fields ({_SPECIFIERS})")
    if not any(boot_set.get(name) for name in NODES_BY):
        raise BootSetError(f"No non-empty hardware specifier fields ({_SPECIFIERS})")


def _has_known_provider(boot_set: Record) -> None:
    provider = boot_set.get("rootfs_provider", "sbps")
    if provider != "sbps":
        raise BootSetWarning(f"Unsupported rootfs_provider ('{provider}') will cause boot/reboot sessions to fail")


def canonical(xname: str) -> str:
    """In lower case, without zeros before numbers."""
    return _XNAME.sub(r"x\1c\2s\3b\4n\5", xname.lower())


def without_empty_cfs(record: Record) -> Record:
    """No configuration and an empty one are the same: it is not kept."""
    if "cfs" in record and not (record["cfs"] or {}).get("configuration"):
        return {name: value for name, value in record.items() if name != "cfs"}
    return dict(record)
