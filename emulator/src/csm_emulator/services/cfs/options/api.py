"""Options: their operations in versions 2 and 3."""

from __future__ import annotations

from csm_emulator.dialects.connexion import json_reply, read_body
from csm_emulator.services.cfs import schemas
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.version_2 import OPTIONS, from_v2, to_v2
from csm_emulator.transport.call import Call, Reply


class OptionsApi:
    def __init__(self, options: Options) -> None:
        self._options = options

    def get_v2(self, _: Call) -> Reply:
        return json_reply(to_v2(self._options.all(), OPTIONS))

    def get_v3(self, _: Call) -> Reply:
        return json_reply(self._options.all())

    def patch_v2(self, call: Call) -> Reply:
        self._options.change(from_v2(read_body(call, schemas.V2_OPTIONS), OPTIONS))
        return self.get_v2(call)

    def patch_v3(self, call: Call) -> Reply:
        self._options.change(read_body(call, schemas.V3_OPTIONS))
        return self.get_v3(call)
