"""A build: the recipe is fetched, its repositories are looked for, and kiwi or packer makes an image of it."""

from __future__ import annotations

from csm_emulator.seed_data import image_files
from csm_emulator.seed_data.buckets import etag
from csm_emulator.seed_data.images import INITRD, KERNEL, PARAMETERS, ROOTFS
from csm_emulator.services.ims.images.layers import with_record
from csm_emulator.services.ims.jobs import download as fetching
from csm_emulator.services.ims.jobs.pod import Run
from csm_emulator.services.ims.jobs.upload import package
from csm_emulator.services.ims.recipes.archive import Unpackable, repositories, unpack

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


def fetch(run: Run, tries: int) -> None:
    if not tries and not fetching.begin(run, FETCH, "recipe"):
        return
    data = fetching.download(run, FETCH, "fetch", tries)
    if data is None:
        return
    fetching.log(run, FETCH, "Uncompressing recipe into /mnt/image/recipe")
    try:
        files = unpack(data)
    except Unpackable as error:
        run.fail(FETCH, "ERROR:/scripts/fetch.py:Error unhandled exception while fetching recipe.", str(error))
        return
    fetching.log(run, FETCH, "Templating recipe")
    if _TEMPLATE in files and not run["template"]:
        run.fail(
            FETCH,
            "ERROR:/scripts/fetch.py:The recipe expects to be templated, but the IMS recipe record does not specify "
            "any values in the template_dictionary.",
        )
        return
    run.save_file(ARCHIVE, data)
    run.go("repos", run.chance(4, 15, "recipe"))


def repos(run: Run, _: int) -> None:
    fetching.log(run, FETCH, "Deleting compressed recipe /tmp/recipe.tgz", "Done")
    run.end(FETCH)
    run.begin(REPOS)
    run.say(REPOS, "Setting job status to 'waiting_for_repos'")
    run.tell_or_warn(REPOS, "waiting_for_repos")
    if run["recipe_type"] == "kiwi-ng" and not _finds_repos(run):
        return
    run.go("build", run.chance(5, 25, "repos"))


def _finds_repos(run: Run) -> bool:
    config = unpack(run.file(ARCHIVE) or b"").get("config.xml")
    if config is None:
        # The script ends before it sets a status: the job keeps the one it has.
        run.say(REPOS, "/mnt/image/recipe/config.xml does not exist.")
        run.end(REPOS, 1)
        run.finish()
        return False
    try:
        found = repositories(config)
    except Unpackable as error:
        run.fail(REPOS, f"Failed to parse config.xml to determine repo URLs. {error}")
        return False
    if not found:
        run.fail(REPOS, "No matching http(s) repos found. Exiting.")
        return False
    run.say(REPOS, f"Recipe contains the following repos: {found}")
    for repository in found:
        where = f"{repository.strip('/')}/repodata/repomd.xml"
        run.say(REPOS, f"Attempting to get {where}", f"200 response getting {where}")
    return True


def build(run: Run, _: int) -> None:
    run.end(REPOS)
    run.begin(CA_RPM)
    run.say(CA_RPM, "Building cray-ca-cert RPM")
    run.end(CA_RPM)
    run.begin(BUILD)
    run.say(BUILD, "Setting ims job status to building_image")
    run.tell_or_warn(BUILD, "building_image")
    span = run.chance(150, 420, "build")
    if run["remote"]:
        run.say(BUILD, f"Running remote build on host: {run['remote']}")
    lines = _KIWI if run["recipe_type"] == "kiwi-ng" else ("packer build: qemu", "Build 'qemu' finished.")
    tool = "Calling kiwi-ng build..." if run["recipe_type"] == "kiwi-ng" else "Calling packer build..."
    run.say(BUILD, tool)
    run.say_over(BUILD, span, (f"[ INFO    ]: {line}" for line in lines))
    run.go("built", span)


def built(run: Run, _: int) -> None:
    run.end(BUILD)
    run.begin(SIDECAR, SHELL)
    run.say(SHELL, "Not running user shell for successful create action")
    run.end(SHELL)
    run.say(SIDECAR, "Not running user shell for successful create action")
    run.say(SIDECAR, "Copying SMS CA Public Certificate to target image root")
    _make(run)
    package(run, "/mnt/image/build/image-root")


def _make(run: Run) -> None:
    """The image follows from the recipe's archive and its values, and from nothing else."""
    archive, arch = run.file(ARCHIVE) or b"", run["arch"]
    about = f"{etag(archive)} {sorted(run['template'].items())}"
    release = _RELEASE[arch]
    record = {
        "job": "create",
        "recipe": run["source"],
        "archive": etag(archive),
        "template_dictionary": run["template"],
    }
    run.save_file(ROOTFS, with_record(image_files.squashfs(about, 0), record))
    run.save_file(KERNEL, image_files.kernel(arch, release, about))
    run.save_file(INITRD, image_files.initrd({"etc/initrd-release": f"ID={release} {about}\n".encode()}))
    run.save_file(PARAMETERS, b"console=ttyS0,115200 ip=dhcp quiet\n")
