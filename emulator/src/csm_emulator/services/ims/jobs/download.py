"""The first container of a job's pod: it downloads the recipe or the image."""

from __future__ import annotations

from csm_emulator.records import Json
from csm_emulator.seed_data.buckets import etag
from csm_emulator.services.ims.images.artifacts import bucket_and_key
from csm_emulator.services.ims.jobs.job_pod import JobPod
from csm_emulator.transport.s3_client import HOST, S3Unavailable

_TRIES = 20
_PAUSE = 10.0
_LOG = "INFO:/scripts/fetch.py:"
_WARNING = "WARNING:/scripts/fetch.py:"
_ERROR = "ERROR:/scripts/fetch.py:"


def begin(pod: JobPod, container: str, what: str) -> bool:
    """Start the container; return False when the job ended because its status could not be set."""
    pod.begin(container)
    pod.say(container, f"{_LOG}IMS_JOB_ID={pod.job_id}", f"{_LOG}Setting job status to 'fetching_{what}'.")
    if pod.report_status(f"fetching_{what}"):
        pod.say(container, f"{_LOG}Fetching {what} {url(pod['link'])}", f"{_LOG}Saving file as '{_FILES[what]}'")
        return True
    pod.fail(container, f"{_ERROR}Error unhandled exception while fetching {_UNHANDLED[what]}.")
    return False


_FILES = {"image": "/mnt/image/image.sqsh", "recipe": "/tmp/recipe.tgz"}  # noqa: S108 (a name in a log)
_UNHANDLED = {"image": "image root", "recipe": "recipe"}


def download_file(pod: JobPod, container: str, step: str, tries: int) -> bytes | None:
    """The file; None when the download will be retried or the job has failed."""
    data, trouble = _get(pod, pod["link"])
    if data is None:
        pod.say(container, f"{_WARNING}Error {trouble} downloading {url(pod['link'])}")
        if tries + 1 >= _TRIES:
            pod.fail(container, f"{_ERROR}Failed to download {url(pod['link'])} after {tries + 1} tries.")
        else:
            pod.say(container, f"{_WARNING}Sleeping {_PAUSE:.0f} sec and trying again...")
            pod.schedule_step(step, _PAUSE, tries + 1)
        return None
    pod.say(container, f"{_LOG}File download complete.")
    return data if _is_whole(pod, container, data) else None


def _is_whole(pod: JobPod, container: str, data: bytes) -> bool:
    if not pod["md5"]:
        return True
    pod.say(container, f"{_LOG}Verifying md5sum of the downloaded file.")
    if etag(data) != pod["md5"]:
        pod.fail(container, f"{_ERROR}The calculated md5sum does not match the expected value.")
        return False
    pod.say(container, f"{_LOG}Successfully verified the md5sum of the downloaded file.")
    return True


def _get(pod: JobPod, link: Json) -> tuple[bytes | None, str]:
    try:
        data = pod.s3.get(*bucket_and_key(link))
    except S3Unavailable as error:
        return None, f"{error.reply.status} Server Error: for url: {url(link)}"
    return data, f"404 Client Error: Not Found for url: {url(link)}"


def download_other_files(pod: JobPod) -> None:
    """Download the image's other files, which represent the content of its ``/boot``."""
    for kind, link in pod["links"].items():
        data, _ = _get(pod, link)
        if data is not None:
            pod.save_file(kind, data)


def log(pod: JobPod, container: str, *lines: str) -> None:
    pod.say(container, *(f"{_LOG}{line}" for line in lines))


def url(link: Json) -> str:
    return f"https://{HOST}/{'/'.join(bucket_and_key(link))}"
