"""A build: the recipe is downloaded, its repositories are checked, and kiwi or packer builds an image."""

from __future__ import annotations

from csm_emulator.seed_data import image_files
from csm_emulator.seed_data.buckets import etag
from csm_emulator.seed_data.images import INITRD, KERNEL, PARAMETERS, ROOTFS
from csm_emulator.services.ims.images.job_records import with_record
from csm_emulator.services.ims.jobs import download
from csm_emulator.services.ims.jobs.job_pod import JobPod
from csm_emulator.services.ims.jobs.upload import package
from csm_emulator.services.ims.recipes.archive import InvalidArchive, repositories, unpack

FETCH, REPOS, CA_RPM, BUILD = "fetch-recipe", "wait-for-repos", "build-ca-rpm", "build-image"
SIDECAR, SHELL = "buildenv-sidecar", "sshd"
ARCHIVE = "recipe"
_TEMPLATE = ".ims_recipe_template.yaml"
_RELEASE = {"x86_64": "5.14.21-150500.55.97-default", "aarch64": "5.14.21-150500.55.97-64kb"}
_KIWI = (
    "Loading XML description",
    "Setting up root directory: /mnt/image/build/image-root",
    "Setting up repositories",
    "Using package manager backend: zypper",
    "Installing bootstrap packages",
    "Installing system (chroot) for build type: tbz",
    "Importing Image description to system tree",
    "Running post-import script config.sh",
    "Setting up user root",
    "Creating XZ compressed tar archive",
)


def fetch(pod: JobPod, tries: int) -> None:
    if not tries and not download.begin(pod, FETCH, "recipe"):
        return
    data = download.download_file(pod, FETCH, "fetch", tries)
    if data is None:
        return
    download.log(pod, FETCH, "Uncompressing recipe into /mnt/image/recipe")
    try:
        files = unpack(data)
    except InvalidArchive as error:
        pod.fail(FETCH, "ERROR:/scripts/fetch.py:Error unhandled exception while fetching recipe.", str(error))
        return
    download.log(pod, FETCH, "Templating recipe")
    if _TEMPLATE in files and not pod["template"]:
        pod.fail(
            FETCH,
            "ERROR:/scripts/fetch.py:The recipe expects to be templated, but the IMS recipe record does not specify "
            "any values in the template_dictionary.",
        )
        return
    pod.save_file(ARCHIVE, data)
    pod.schedule_step("repos", pod.random_seconds(4, 15, "recipe"))


def repos(pod: JobPod, _: int) -> None:
    download.log(pod, FETCH, "Deleting compressed recipe /tmp/recipe.tgz", "Done")
    pod.end(FETCH)
    pod.begin(REPOS)
    pod.say(REPOS, "Setting job status to 'waiting_for_repos'")
    pod.report_status_or_warn(REPOS, "waiting_for_repos")
    if pod["recipe_type"] == "kiwi-ng" and not _check_repos(pod):
        return
    pod.schedule_step("build", pod.random_seconds(5, 25, "repos"))


def _check_repos(pod: JobPod) -> bool:
    config = unpack(pod.file(ARCHIVE) or b"").get("config.xml")
    if config is None:
        # The real script ends before it sets a status, so the job keeps its current one.
        pod.say(REPOS, "/mnt/image/recipe/config.xml does not exist.")
        pod.end(REPOS, 1)
        pod.finish()
        return False
    try:
        urls = repositories(config)
    except InvalidArchive as error:
        pod.fail(REPOS, f"Failed to parse config.xml to determine repo URLs. {error}")
        return False
    if not urls:
        pod.fail(REPOS, "No matching http(s) repos found. Exiting.")
        return False
    pod.say(REPOS, f"Recipe contains the following repos: {urls}")
    for repository in urls:
        where = f"{repository.strip('/')}/repodata/repomd.xml"
        pod.say(REPOS, f"Attempting to get {where}", f"200 response getting {where}")
    return True


def build(pod: JobPod, _: int) -> None:
    pod.end(REPOS)
    pod.begin(CA_RPM)
    pod.say(CA_RPM, "Building cray-ca-cert RPM")
    pod.end(CA_RPM)
    pod.begin(BUILD)
    pod.say(BUILD, "Setting ims job status to building_image")
    pod.report_status_or_warn(BUILD, "building_image")
    span = pod.random_seconds(150, 420, "build")
    if pod["remote"]:
        pod.say(BUILD, f"Running remote build on host: {pod['remote']}")
    lines = _KIWI if pod["recipe_type"] == "kiwi-ng" else ("packer build: qemu", "Build 'qemu' finished.")
    tool = "Calling kiwi-ng build..." if pod["recipe_type"] == "kiwi-ng" else "Calling packer build..."
    pod.say(BUILD, tool)
    pod.say_spread(BUILD, span, (f"[ INFO    ]: {line}" for line in lines))
    pod.schedule_step("built", span)


def built(pod: JobPod, _: int) -> None:
    pod.end(BUILD)
    pod.begin(SIDECAR, SHELL)
    pod.say(SHELL, "Not running user shell for successful create action")
    pod.end(SHELL)
    pod.say(SIDECAR, "Not running user shell for successful create action")
    pod.say(SIDECAR, "Copying SMS CA Public Certificate to target image root")
    _save_image(pod)
    package(pod, "/mnt/image/build/image-root")


def _save_image(pod: JobPod) -> None:
    """Save the image's files. They depend only on the recipe's archive and its template values."""
    archive, arch = pod.file(ARCHIVE) or b"", pod["arch"]
    seed = f"{etag(archive)} {sorted(pod['template'].items())}"
    release = _RELEASE[arch]
    record = {
        "job": "create",
        "recipe": pod["source"],
        "archive": etag(archive),
        "template_dictionary": pod["template"],
    }
    pod.save_file(ROOTFS, with_record(image_files.squashfs(seed, 0), record))
    pod.save_file(KERNEL, image_files.kernel(arch, release, seed))
    pod.save_file(INITRD, image_files.initrd({"etc/initrd-release": f"ID={release} {seed}\n".encode()}))
    pod.save_file(PARAMETERS, b"console=ttyS0,115200 ip=dhcp quiet\n")
