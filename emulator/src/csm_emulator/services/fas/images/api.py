"""``/images``."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.records import Json
from csm_emulator.services.fas import bodies
from csm_emulator.services.fas.devices import Devices
from csm_emulator.services.fas.images import seed_data, versions
from csm_emulator.services.fas.responses import NIL, RequestFailed, answer, uuid_from, with_problems, without_empty
from csm_emulator.state.clock import rfc3339
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import Route

SEED_TIME = 1_700_000_000.0
"""The creation time of the images that the machine starts with, earlier than any start of an emulator."""
_REQUIRED = {
    "target": "target is required",
    "firmwareVersion": "firmwareVersion is required",
    "s3URL": "S3URL is required",
}
_REQUIRED_WITHOUT_ID = {
    "deviceType": "deviceType is required",
    "manufacturer": "manufacturer is required",
    "models": "models is required",
}


class Images:
    def __init__(self, context: Context, devices: Devices) -> None:
        self._context = context
        self._release_images = seed_data.images(devices, context.random)
        seed = {
            context.random.uuid("image", number): {**image, "createTime": SEED_TIME}
            for number, image in enumerate(self._release_images)
        }
        self._table = context.tables.open("fas.images", seed)
        self._count: RecordTable[int] = context.tables.open("fas.images.count")

    def routes(self) -> list[Route]:
        return [
            Route("GET", "/images", self.list_all),
            Route("PUT", "/images/{imageID}", with_problems(self.put)),
            Route("POST", "/images", with_problems(self.create)),
            Route("GET", "/images/{imageID}", with_problems(self.get)),
            Route("DELETE", "/images/{imageID}", with_problems(self.delete)),
        ]

    def all(self) -> dict[str, Json]:
        return dict(self._table)

    def find(self, image: str) -> Json | None:
        return self._table.get(image)

    def expect(self, image: str, status: int) -> Json:
        if image == NIL:
            raise RequestFailed(status, "Null image id")
        record = self._table.get(image)
        if record is None:
            raise RequestFailed(status, f"Key /images/{image} does not exist")
        return record

    def load_release_images(self) -> list[Json]:
        """Adds the images of HPE's release that FAS does not have, and returns them."""
        added = [image for image in self._release_images if not self._has(image)]
        for image in added:
            self._add(image)
        return added

    def add(self, body: Json) -> str:
        """Returns the id of the new image. Raises ``RequestFailed``."""
        return self._add(_checked(body))

    def create(self, call: Call) -> Reply:
        image = self.add(bodies.read(call.body, bodies.IMAGE))
        return answer({"imageID": image}, 200, [("Location", f"../images/{image}")])

    def put(self, call: Call) -> Reply:
        """Replaces an image, or creates it with this id."""
        image = uuid_from(call, "imageID")
        body = bodies.read(call.body, bodies.IMAGE)
        checked = _checked(body)
        if image == NIL:
            raise RequestFailed(400, "imageID cannot be Nil")
        exists = image in self._table
        self._table[image] = {**checked, "createTime": self._context.clock.now()}
        return Reply(200 if exists else 201)

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
        image_id = self._context.random.uuid("image made", number)
        self._table[image_id] = {**image, "createTime": self._context.clock.now()}
        return image_id

    def _has(self, image: Json) -> bool:
        names = ("deviceType", "manufacturer", "models", "target", "semanticFirmwareVersion")
        return any(all(record[name] == image[name] for name in names) for record in self._table.values())

    def _show(self, image: str) -> Json:
        record = self._table[image]
        view = {"imageID": image, "createTime": rfc3339(record["createTime"], 0)}
        return view | without_empty({name: record[name] for name in bodies.IMAGE.fields})


def _checked(body: Json) -> Json:
    try:
        semantic = versions.canonical(body["semanticFirmwareVersion"])
    except ValueError as error:
        raise RequestFailed(400, str(error)) from error
    required = _REQUIRED if body["softwareIds"] else _REQUIRED_WITHOUT_ID | _REQUIRED
    for name, message in required.items():
        if not body[name]:
            raise RequestFailed(400, message)
    if not body["tags"]:
        raise RequestFailed(400, "tags cannot be empty")
    return {**body, "semanticFirmwareVersion": semantic}
