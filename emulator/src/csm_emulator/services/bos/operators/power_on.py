"""The power-on operator: it tags images, sets boot parameters and configuration, then powers nodes on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from csm_emulator.records import Record
from csm_emulator.services.bos.boot_images import image_id
from csm_emulator.services.bos.components.records import DID_POWER_ON, ON_PENDING
from csm_emulator.services.bos.failures import Failure
from csm_emulator.services.bos.operators.node_actions import NodeOperator

Artefacts = tuple[str, str, str]
"""Kernel, kernel parameters, initrd."""
SBPS = "root=sbps-s3"
DELETED = "deleted"


class PowerOn(NodeOperator):
    name = "power-on"
    statuses = (ON_PENDING,)
    action = DID_POWER_ON
    attempts_field = "power_on_attempts"

    def act(self, components: Sequence[Record]) -> dict[str, str]:
        # The record is written first: otherwise the node could be up before its record says that it was started.
        self.bos.components.patch_alike([record["id"] for record in components], self.last_action())
        records_by_artefacts = _by_artefacts(components)
        errors = self._tag_images(records_by_artefacts)
        if errors:
            self.record_attempts([record for record in components if record["id"] in errors], errors)
        self._set_bss(records_by_artefacts)
        self._or_fail("setting CFS information:", lambda: self._configure(components))
        names = [record["id"] for record in components]
        self._or_fail("calling CAPMC to power on:", lambda: self.bos.neighbours.transition("On", names))
        return errors

    def _configure(self, components: Sequence[Record]) -> None:
        """A booting node has no configuration: CFS leaves it alone until the node reports that it is up."""
        self.bos.neighbours.configure(components, enabled=False, clear_state=True)

    def _tag_images(self, records_by_artefacts: Mapping[Artefacts, list[Record]]) -> dict[str, str]:
        nodes_by_image: defaultdict[str, list[str]] = defaultdict(list)
        errors: dict[str, str] = {}
        for (kernel, parameters, _), records in records_by_artefacts.items():
            if SBPS not in parameters:
                continue
            names = [record["id"] for record in records]
            image = image_id(kernel)
            if image is None:
                errors.update(dict.fromkeys(names, f"Unable to extract IMS ID from kernel path: {kernel}"))
            elif image == DELETED:
                message = f"Kernel path appears to refer to soft-deleted IMS image: '{kernel}'"
                errors.update(dict.fromkeys(names, message))
            else:
                nodes_by_image[image] += names
        for image, names in nodes_by_image.items():
            try:
                self.bos.neighbours.tag_for_sbps(image)
            except Failure as failure:
                errors.update(dict.fromkeys(names, failure.qualified_message))
        return errors

    def _set_bss(self, records_by_artefacts: Mapping[Artefacts, list[Record]]) -> None:
        """Nodes whose parameters BSS refuses are started all the same, with their previous parameters."""
        for (kernel, parameters, initrd), records in records_by_artefacts.items():
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

    def _or_fail(self, doing: str, action: Callable[[], None]) -> None:
        try:
            action()
        except Failure as failure:
            raise Failure("Exception", f"Error encountered {doing} {failure.qualified_message}") from None


def _by_artefacts(components: Sequence[Record]) -> Mapping[Artefacts, list[Record]]:
    records_by_artefacts: defaultdict[Artefacts, list[Record]] = defaultdict(list)
    for record in components:
        desired = record.get("desired_state", {}).get("boot_artifacts", {})
        key = (desired.get("kernel", ""), desired.get("kernel_parameters", ""), desired.get("initrd", ""))
        if any(key):
            records_by_artefacts[key].append(record)
    return records_by_artefacts
