"""The first container of a job's pod: it downloads what the job goes out from."""

from __future__ import annotations

from csm_emulator.clients.s3 import HOST, S3Unavailable
from csm_emulator.records import Json
from csm_emulator.seed_data.buckets import etag
from csm_emulator.services.ims.images.artifacts import place
from csm_emulator.services.ims.jobs.pod import Run

_TRIES = 20
_PAUSE = 10.0
_LOG = "INFO:/scripts/fetch.py:"
_WARNING = "WARNING:/scripts/fetch.py:"
_ERROR = "ERROR:/scripts/fetch.py:"


def begin(run: Run, container: str, what: str) -> bool:
    """Whether the job may go on: a status that cannot be set ends it here."""
    run.begin(container)
    run.say(container, f"{_LOG}IMS_JOB_ID={run.job_id}", f"{_LOG}Setting job status to 'fetching_{what}'.")
    if run.tell(f"fetching_{what}"):
        run.say(container, f"{_LOG}Fetching {what} {url(run['link'])}", f"{_LOG}Saving file as '{_FILES[what]}'")
        return True
    run.fail(container, f"{_ERROR}Error unhandled exception while fetching {_UNHANDLED[what]}.")
    return False


_FILES = {"image": "/mnt/image/image.sqsh", "recipe": "/tmp/recipe.tgz"}  # noqa: S108 (a name in a log)
_UNHANDLED = {"image": "image root", "recipe": "recipe"}


def download(run: Run, container: str, step: str, tries: int) -> bytes | None:
    """The file; None when it is asked for again later, or not any more."""
    data, trouble = _get(run, run["link"])
    if data is None:
        run.say(container, f"{_WARNING}Error {trouble} downloading {url(run['link'])}")
        if tries + 1 >= _TRIES:
            run.fail(container, f"{_ERROR}Failed to download {url(run['link'])} after {tries + 1} tries.")
        else:
            run.say(container, f"{_WARNING}Sleeping {_PAUSE:.0f} sec and trying again...")
            run.go(step, _PAUSE, tries + 1)
        return None
    run.say(container, f"{_LOG}File download complete.")
    return data if _is_whole(run, container, data) else None


def _is_whole(run: Run, container: str, data: bytes) -> bool:
    if not run["md5"]:
        return True
    run.say(container, f"{_LOG}Verifying md5sum of the downloaded file.")
    if etag(data) != run["md5"]:
        run.fail(container, f"{_ERROR}The calculated md5sum does not match the expected value.")
        return False
    run.say(container, f"{_LOG}Successfully verified the md5sum of the downloaded file.")
    return True


def _get(run: Run, link: Json) -> tuple[bytes | None, str]:
    try:
        data = run.s3.get(*place(link))
    except S3Unavailable as away:
        return None, f"{away.reply.status} Server Error: for url: {url(link)}"
    return data, f"404 Client Error: Not Found for url: {url(link)}"


def fetch_others(run: Run) -> None:
    """The other files of an image: they stand for what its root file system has in /boot."""
    for kind, link in run["links"].items():
        data, _ = _get(run, link)
        if data is not None:
            run.save_file(kind, data)


def log(run: Run, container: str, *lines: str) -> None:
    run.say(container, *(f"{_LOG}{line}" for line in lines))


def url(link: Json) -> str:
    return f"https://{HOST}/{'/'.join(place(link))}"
