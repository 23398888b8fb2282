"""The records that running sessions read and change: sessions, layers, components and options, in the v3 format.

Records are never changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable

from csm_emulator.records import Json, Record
from csm_emulator.services.cfs.components.changes import UncaughtError, append_entry
from csm_emulator.services.cfs.components.table import Components
from csm_emulator.services.cfs.configurations.table import Configurations
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.sessions.table import Sessions
from csm_emulator.services.cfs.sources.table import Sources
from csm_emulator.services.cfs.timestamps import stamp
from csm_emulator.state.clock import Clock

_DEBUG_PREFIX = "debug_"
_MAX_DIGITS = 10
_LAYER_FIELDS = ("name", "source", "clone_url", "playbook", "commit", "special_parameters")


class CfsRecords:
    def __init__(
        self,
        clock: Clock,
        options: Options,
        sessions: Sessions,
        configurations: Configurations,
        components: Components,
        sources: Sources,
    ) -> None:
        self._clock = clock
        self._options = options
        self._sessions = sessions
        self._configurations = configurations
        self._components = components
        self._sources = sources

    def session(self, name: str) -> Record | None:
        """The session, None when it does not exist. Unknown fields, such as the job, are null."""
        return self._sessions.get(name)

    def change_session(self, name: str, **fields: Json) -> None:
        """Change fields of ``status.session``, as PATCH does: a status never goes back, and empty values are ignored.

        Nothing happens when there is no such session.
        """
        if name in self._sessions:
            self._sessions.change(name, fields, [])

    def add_artifact(self, name: str, artifact: Record) -> None:
        """Add an artifact to the session, unless it is listed already."""
        if name in self._sessions:
            self._sessions.change(name, {}, [artifact])

    def layers(self, session: Record) -> list[Record]:
        """The layers that the session applies, in order; ``layer`` is the layer's index in the configuration.

        A name that begins with ``debug_`` and is not a configuration is one of the built-in playbooks.
        Raises ``LookupError`` when the configuration is gone.
        """
        name = session["configuration"]["name"]
        layers = self._configurations.layers(name)
        if layers is None:
            if not name.startswith(_DEBUG_PREFIX):
                raise LookupError(name)
            return [_debug_layer(name)]
        limit = session["configuration"].get("limit") or ""
        return [{**self._cloneable(layers[index]), "layer": str(index)} for index in _limited_indexes(layers, limit)]

    def additional_inventory(self, session: Record) -> Record | None:
        """The repository of additional inventory: the configuration's, else the one in the options."""
        configuration = self._configurations.get(session["configuration"]["name"])
        if configuration is None:
            return None
        own = configuration.get("additional_inventory")
        if own:
            return self._cloneable(own)
        source, url = self._options.text("additional_inventory_source"), self._options.text("additional_inventory_url")
        if source:
            return self._cloneable({"source": source, "commit": ""})
        return self._cloneable({"clone_url": url, "commit": ""}) if url else None

    def credentials(self, source: str) -> Record | None:
        """Username and password of a source from Vault."""
        record = self._sources.get(source)
        return self._sources.secret(record.get("credentials", {}).get("secret_name", "")) if record else None

    def component(self, xname: str) -> Record | None:
        return self._components.get(xname)

    def components(self, xnames: Iterable[str]) -> dict[str, Record]:
        """The components that exist, by xname."""
        pairs = ((xname, self._components.get(xname)) for xname in xnames)
        return {xname: record for xname, record in pairs if record is not None}

    def append_state(self, xnames: Iterable[str], layer: Record, status: str, session_name: str) -> None:
        """Record what Ansible's callback reports at the end of a playbook: ``applied``, ``failed`` or ``incomplete``.

        A failure increments the component's error count and a success resets it. Unknown components are ignored.
        """
        entry = {
            "clone_url": layer["clone_url"],
            "playbook": layer["playbook"],
            "commit": layer["commit"],
            "status": status,
            "session_name": session_name,
            "last_updated": stamp(self._clock.now()),
        }
        for xname in xnames:
            record = self._components.get(xname)
            if record is not None:
                self._append(xname, record, entry)

    def options(self) -> Record:
        return self._options.all()

    def _append(self, xname: str, record: Record, entry: Record) -> None:
        changed = {**record}
        if entry["status"] == "failed":
            changed["error_count"] = record.get("error_count", 0) + 1
        elif entry["status"] == "applied":
            changed["error_count"] = 0
        changed.setdefault("tags", {})
        try:
            changed["state"] = append_entry(record, entry)
        except UncaughtError:
            return
        self._components.put(xname, changed)

    def _cloneable(self, layer: Record) -> Record:
        """The layer with the clone_url of its source, which is empty when the source does not exist."""
        cloneable = {key: layer[key] for key in _LAYER_FIELDS if key in layer}
        if "source" in layer:
            cloneable["clone_url"] = (self._sources.get(layer["source"]) or {}).get("clone_url", "")
        return {"name": "", "playbook": "", "commit": "", "special_parameters": {}, **cloneable}


def _limited_indexes(layers: list[Record], limit: str) -> list[int]:
    """Indexes of the limited layers: by number, or else every layer whose name occurs in the text of the limit."""
    if not limit:
        return list(range(len(layers)))
    words = limit.split(",")
    if all(word.isdecimal() for word in words):
        indexes = sorted(int(word) for word in words if len(word) < _MAX_DIGITS)
        return [index for index in indexes if index < len(layers)]
    return [index for index, layer in enumerate(layers) if layer.get("name", "") in limit]


def _debug_layer(name: str) -> Record:
    playbook = f"{name.removeprefix(_DEBUG_PREFIX)}.yaml"
    fields = {"name": "debug", "clone_url": "", "commit": "", "special_parameters": {}}
    return {**fields, "playbook": playbook, "layer": "_debug"}
