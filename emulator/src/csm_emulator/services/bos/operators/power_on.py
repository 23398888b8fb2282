"""The power-on operator: boot parameters, configuration, image, power, in this order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from csm_emulator.records import Record
from csm_emulator.services.bos.boot_images import image_id
from csm_emulator.services.bos.components.records import DID_POWER_ON, ON_PENDING
from csm_emulator.services.bos.failures import Failure
from csm_emulator.services.bos.operators.node_actions import Acting

Artefacts = tuple[str, str, str]
"""Kernel, its parameters, initrd."""
SBPS = "root=sbps-s3"
DELETED = "deleted"


class PowerOn(Acting):
    name = "power-on"
    statuses = (ON_PENDING,)
    action = DID_POWER_ON
    attempts = "power_on_attempts"

    def act(self, components: Sequence[Record]) -> dict[str, str]:
        # The node may be up before its record says that it was started: the record comes first.
        self.bos.components.patch_alike([record["id"] for record in components], self.last_action())
        alike = _by_artefacts(components)
        errors = self._tag_images(alike)
        if errors:
            self.note([record for record in components if record["id"] in errors], errors)
        self._set_bss(alike)
        self._or_fail("setting CFS information:", lambda: self._configure(components))
        names = [record["id"] for record in components]
        self._or_fail("calling CAPMC to power on:", lambda: self.bos.neighbours.transition("On", names))
        return errors

    def _configure(self, components: Sequence[Record]) -> None:
        """A node that boots is bare: CFS waits until it says that it is up."""
        self.bos.neighbours.configure(components, enabled=False, clear_state=True)

    def _tag_images(self, alike: Mapping[Artefacts, list[Record]]) -> dict[str, str]:
        nodes_by_image: defaultdict[str, list[str]] = defaultdict(list)
        errors: dict[str, str] = {}
        for (kernel, parameters, _), records in alike.items():
            if SBPS not in parameters:
                continue
            names = [record["id"] for record in records]
            image = image_id(kernel)
            if image is None:
                errors.update(dict.fromkeys(names, f"Unable to extract IMS ID from kernel path: {kernel}"))
            elif image == DELETED:
                told = f"Kernel path appears to refer to soft-deleted IMS image: '{kernel}'"
                errors.update(dict.fromkeys(names, told))
            else:
                nodes_by_image[image] += names
        for image, names in nodes_by_image.items():
            try:
                self.bos.neighbours.tag_for_sbps(image)
            except Failure as failure:
                errors.update(dict.fromkeys(names, failure.named))
        return errors

    def _set_bss(self, alike: Mapping[Artefacts, list[Record]]) -> None:
        """Nodes whose parameters BSS does not take are started none the less, with those of before."""
        for (kernel, parameters, initrd), records in alike.items():
            names = [record["id"] for record in records]
            try:
                token = self.bos.neighbours.set_boot_parameters(names, kernel, parameters, initrd)
            except Failure:
                continue
            artefacts = {"kernel": kernel, "kernel_parameters": parameters, "initrd": initrd}
            self.bos.auto.remember_token(token, artefacts)
            self.bos.components.patch(
                {
                    record["id"]: {"session": record.get("session", ""), "desired_state": {"bss_token": token}}
                    for record in records
                }
            )

    def _or_fail(self, doing: str, do: Callable[[], None]) -> None:
        try:
            do()
        except Failure as failure:
            raise Failure("Exception", f"Error encountered {doing} {failure.named}") from None


def _by_artefacts(components: Sequence[Record]) -> Mapping[Artefacts, list[Record]]:
    alike: defaultdict[Artefacts, list[Record]] = defaultdict(list)
    for record in components:
        wanted = record.get("desired_state", {}).get("boot_artifacts", {})
        key = (wanted.get("kernel", ""), wanted.get("kernel_parameters", ""), wanted.get("initrd", ""))
        if any(key):
            alike[key].append(record)
    return alike
