"""Operations on configurations, shared by both API versions."""

from __future__ import annotations

from csm_emulator.records import Record
from csm_emulator.services.cfs.components.changes import UncaughtError
from csm_emulator.services.cfs.components.table import Components
from csm_emulator.services.cfs.configurations.branches import BranchError, Branches
from csm_emulator.services.cfs.configurations.table import Configurations, layers_and_inventory
from csm_emulator.services.cfs.errors import no_configuration, refuse
from csm_emulator.services.cfs.sources.table import Sources
from csm_emulator.services.cfs.tenants import check_owner
from csm_emulator.services.cfs.timestamps import stamp
from csm_emulator.state.clock import Clock


class ConfigurationActions:
    def __init__(
        self, clock: Clock, table: Configurations, components: Components, sources: Sources, branches: Branches
    ) -> None:
        self._clock = clock
        self._table = table
        self._components = components
        self._sources = sources
        self._branches = branches

    def get(self, name: str) -> Record:
        record = self._table.get(name)
        if record is None:
            raise no_configuration(name)
        return record

    def put(self, name: str, data: Record, drop_branches: bool = False) -> Record:
        record = self._with_commits(data)
        keys = [(layer.get("clone_url", layer.get("source")), layer.get("playbook")) for layer in record["layers"]]
        if len(set(keys)) < len(keys):
            detail = "Two or more layers apply the same playbook from the same repo, but have different commit ids."
            raise refuse(400, "Error with conflicting layers", detail)
        record = {**(_without_branches(record) if drop_branches else record), "name": name}
        self._table.put(name, record)
        return record

    def check_locations(self, data: Record) -> None:
        """Check that each layer has either a source or a clone_url; raises ``Refused``."""
        for part in parts(data):
            if "clone_url" in part and "source" in part:
                detail = "Only source or clone_url should be specified for each layer, not both."
                raise refuse(400, "Error handling source", detail)
            if "clone_url" not in part and "source" not in part:
                detail = "Either source or clone_url must be specified for each layer."
                raise refuse(400, "Error handling source", detail)
            check_revision(part, "Error handling branches")
            if part.get("source") and part["source"] not in self._sources:
                raise refuse(400, "Source does not exist", f"The source {part['source']} does not exist.")

    def update(self, name: str, tenant: str = "") -> Record:
        """Update the commits of layers to the current tops of their branches."""
        record = self.get(name)
        check_owner(tenant, record)
        changed = self._with_commits(record)
        self._table.put(name, changed)
        return changed

    def delete(self, name: str, tenant: str = "") -> None:
        check_owner(tenant, self.get(name))
        if self._components.with_configuration(name):
            detail = f"Configuration {name} is referenced by the desired state of some components"
            raise refuse(400, "Configuration is in use.", detail)
        self._table.delete(name)

    def _with_commits(self, data: Record) -> Record:
        try:
            return self._branches.resolve({**data, "last_updated": stamp(self._clock.now())})
        except BranchError as reason:
            raise refuse(400, "Error converting branch name to commit", str(reason)) from reason


def parts(data: Record) -> list[Record]:
    if "layers" not in data:
        raise UncaughtError
    return list(layers_and_inventory(data))


def check_revision(part: Record, title: str) -> None:
    if "branch" in part and "commit" in part:
        raise refuse(400, title, "Only branch or commit should be specified for each layer, not both.")


def _without_branches(record: Record) -> Record:
    changed = {**record, "layers": [_without_branch(layer) for layer in record["layers"]]}
    if record.get("additional_inventory"):
        changed["additional_inventory"] = _without_branch(record["additional_inventory"])
    return changed


def _without_branch(part: Record) -> Record:
    return {key: value for key, value in part.items() if key != "branch"}
