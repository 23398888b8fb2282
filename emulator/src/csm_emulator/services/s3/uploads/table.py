"""The uploads in progress, and their parts."""

from __future__ import annotations

from collections.abc import Iterator

from csm_emulator.services.s3.records import PartRecord, UploadRecord
from csm_emulator.state.tables import RecordTable, RecordTables


class UploadTable:
    """Each part has a record of its own: a new part does not write the up to ten thousand others again."""

    def __init__(self, tables: RecordTables) -> None:
        self._uploads: RecordTable[UploadRecord] = tables.open("s3.uploads")
        self._parts: RecordTable[PartRecord] = tables.open("s3.parts")
        self._numbers: dict[str, set[int]] = {upload: set() for upload in self._uploads}
        for place in self._parts:
            upload, _, number = place.rpartition("/")
            self._numbers[upload].add(int(number))

    def begin(self, upload: str, record: UploadRecord) -> None:
        self._uploads[upload] = record
        self._numbers[upload] = set()

    def uploads(self) -> Iterator[tuple[str, UploadRecord]]:
        return iter(self._uploads.items())

    def upload(self, upload: str) -> UploadRecord | None:
        return self._uploads.get(upload)

    def part(self, upload: str, number: int) -> PartRecord | None:
        return self._parts.get(f"{upload}/{number}")

    def parts(self, upload: str) -> list[tuple[int, PartRecord]]:
        return [(number, self._parts[f"{upload}/{number}"]) for number in sorted(self._numbers[upload])]

    def set_part(self, upload: str, number: int, part: PartRecord) -> None:
        self._parts[f"{upload}/{number}"] = part
        self._numbers[upload].add(number)

    def end(self, upload: str) -> list[tuple[int, PartRecord]]:
        """Remove the upload and return its parts."""
        parts = self.parts(upload)
        for number, _ in parts:
            del self._parts[f"{upload}/{number}"]
        del self._uploads[upload], self._numbers[upload]
        return parts
