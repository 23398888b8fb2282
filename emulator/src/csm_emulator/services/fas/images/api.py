"""Image records."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.fas import bodies
from csm_emulator.services.fas.devices import Devices
from csm_emulator.services.fas.images import seed_data as library
from csm_emulator.services.fas.images import versions
from csm_emulator.services.fas.responses import NIL, Failed, answer, answering, filled, uuid_from
from csm_emulator.state.clock import rfc3339
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

LOADED = 1_700_000_000.0
"""When the images were loaded that the machine comes with: a date before any that it is started at."""
_NEEDED = {
    "target": "target is required",
    "firmwareVersion": "firmwareVersion is required",
    "s3URL": "S3URL is required",
}
_NEEDED_WITHOUT_ID = {
    "deviceType": "deviceType is required",
    "manufacturer": "manufacturer is required",
    "models": "models is required",
}


class Images:
    def __init__(self, context: Context, devices: Devices) -> None:
        self._context = context
        self._library = library.images(devices, context.random)
        seed = {
            context.random.uuid("image", number): {**image, "createTime": LOADED}
            for number, image in enumerate(self._library)
        }
        self._table = context.tables.open("fas.images", seed)
        self._count = context.tables.open("fas.images.count")

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/images", self.list_all),
            Route("PUT", "/images/{imageID}", answering(self.put)),
            Route("POST", "/images", answering(self.create)),
            Route("GET", "/images/{imageID}", answering(self.get)),
            Route("DELETE", "/images/{imageID}", answering(self.delete)),
        ]

    def all(self) -> dict[str, Json]:
        return dict(self._table)

    def find(self, image: str) -> Json | None:
        return self._table.get(image)

    def expect(self, image: str, status: int) -> Json:
        if image == NIL:
            raise Failed(status, "Null image id")
        found = self._table.get(image)
        if found is None:
            raise Failed(status, f"Key /images/{image} does not exist")
        return found

    def load_library(self) -> list[Json]:
        """What the loader finds in Nexus and FAS does not have yet."""
        added = [image for image in self._library if not self._has(image)]
        for image in added:
            self._add(image)
        return added

    def add(self, said: Json) -> str:
        """Raises ``Failed``."""
        return self._add(_checked(said))

    def create(self, call: Call) -> Reply:
        image = self.add(bodies.read(call.body, bodies.IMAGE))
        return answer({"imageID": image}, 200, [("Location", f"../images/{image}")])

    def put(self, call: Call) -> Reply:
        """A record that is not there is made."""
        image = uuid_from(call, "imageID")
        said = bodies.read(call.body, bodies.IMAGE)
        checked = _checked(said)
        if image == NIL:
            raise Failed(400, "imageID cannot be Nil")
        known = image in self._table
        self._table[image] = {**checked, "createTime": self._context.clock.now()}
        return Reply(200 if known else 201)

    def list_all(self, _: Call) -> Reply:
        return answer({"images": [self._show(image) for image in sorted(self._table)]})

    def get(self, call: Call) -> Reply:
        image = uuid_from(call, "imageID")
        self.expect(image, 404)
        return answer(self._show(image))

    def delete(self, call: Call) -> Reply:
        image = uuid_from(call, "imageID")
        self.expect(image, 404)
        del self._table[image]
        return Reply(204)

    def _add(self, image: Json) -> str:
        number = self._count.get("made", 0) + 1
        self._count["made"] = number
        made = self._context.random.uuid("image made", number)
        self._table[made] = {**image, "createTime": self._context.clock.now()}
        return made

    def _has(self, image: Json) -> bool:
        names = ("deviceType", "manufacturer", "models", "target", "semanticFirmwareVersion")
        return any(all(kept[name] == image[name] for name in names) for kept in self._table.values())

    def _show(self, image: str) -> Json:
        kept = self._table[image]
        shown = {"imageID": image, "createTime": rfc3339(kept["createTime"], 0)}
        return shown | filled({name: kept[name] for name in bodies.IMAGE.fields})


def _checked(said: Json) -> Json:
    try:
        semantic = versions.canonical(said["semanticFirmwareVersion"])
    except ValueError as error:
        raise Failed(400, str(error)) from error
    needed = _NEEDED if said["softwareIds"] else _NEEDED_WITHOUT_ID | _NEEDED
    for name, complaint in needed.items():
        if not said[name]:
            raise Failed(400, complaint)
    if not said["tags"]:
        raise Failed(400, "tags cannot be empty")
    return {**said, "semanticFirmwareVersion": semantic}
