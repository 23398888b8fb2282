"""What the bodies of IMS hold."""

from __future__ import annotations

from csm_emulator.services.ims.responses import invalid
from csm_emulator.services.ims.schemas.fields import (
    Field,
    Invalid,
    Schema,
    at_least,
    boolean,
    integer,
    listed,
    mapped,
    not_blank,
    one_of,
    text,
    uuid,
)
from csm_emulator.transport.call import Json

X86, ARM = "x86_64", "aarch64"
ARCHES = (ARM, X86)
CREATE, CUSTOMIZE = "create", "customize"
JOB_TYPES = (CREATE, CUSTOMIZE)
UNDER_WAY = (
    "creating",
    "fetching_image",
    "fetching_recipe",
    "waiting_for_repos",
    "building_image",
    "packaging_artifacts",
    "waiting_on_user",
)
STATUSES = (*UNDER_WAY, "error", "success")
RECIPE_TYPES = ("kiwi-ng", "packer")
DISTRIBUTIONS = ("sles12", "sles15", "centos7")
_RECIPE_TYPE = "Recipe type must be one of: {choices}."
_JOB_STATE = "Job state must be one of: {choices}."
_NAME = "name field must not be blank"


def _named(name: str, error: str = _NAME) -> dict[str, Field]:
    return {name: Field(text, required=True, checks=[not_blank(error)])}


LINK = Schema(
    {
        **_named("path"),
        "etag": Field(text, default=""),
        "type": Field(text, required=True, checks=[one_of(["s3"], "Type must be one of: {choices}.")]),
    }
)
_ARCH = Field(text, default=X86, checks=[one_of(ARCHES)])
_PAIR = Schema({"key": Field(text, required=True), "value": Field(text, required=True)})
_PAIRS = Field(listed(_PAIR.load), nullable=True)

KEY = Schema({**_named("name"), **_named("public_key", "public_key field must not be blank")})
IMAGE = Schema(
    {
        **_named("name"),
        "link": Field(LINK.load, nullable=True),
        "arch": _ARCH,
        "metadata": Field(mapped(text), default={}),
    }
)
_METADATA = Schema(
    {
        "operation": Field(text, required=True, checks=[one_of(["set", "remove"])]),
        "key": Field(text, required=True),
        "value": Field(text),
    }
)
IMAGE_PATCH = Schema({"link": Field(LINK.load), "arch": _ARCH, "metadata": Field(_METADATA.load)})
RECIPE = Schema(
    {
        **_named("name"),
        "link": Field(LINK.load, nullable=True),
        "recipe_type": Field(text, required=True, checks=[one_of(RECIPE_TYPES, _RECIPE_TYPE)]),
        "linux_distribution": Field(text, required=True, checks=[one_of(DISTRIBUTIONS, _RECIPE_TYPE)]),
        "template_dictionary": _PAIRS,
        "require_dkms": Field(boolean, default=True),
        "arch": _ARCH,
    }
)
RECIPE_PATCH = Schema(
    {
        "link": Field(LINK.load),
        "arch": _ARCH,
        "require_dkms": Field(boolean, default=True),
        "template_dictionary": _PAIRS,
    }
)
DELETED_PATCH = Schema({"operation": Field(text, required=True, checks=[one_of(["undelete"], _RECIPE_TYPE)])})
REMOTE_NODE = Schema(_named("xname"))
_CONTAINER = Schema({"name": Field(text), "jail": Field(boolean, default=False)})
_SIZE = at_least(1, "build_env_size must be greater than or equal to 1")
JOB = Schema(
    {
        "artifact_id": Field(uuid, required=True),
        "public_key_id": Field(uuid, required=True),
        "job_type": Field(text, required=True, checks=[one_of(JOB_TYPES, "Job type must be one of: {choices}.")]),
        **_named("image_root_archive_name", "image_root_archive_name field must not be blank"),
        "enable_debug": Field(boolean, default=False),
        "build_env_size": Field(integer, checks=[_SIZE]),
        "kernel_file_name": Field(text),
        "initrd_file_name": Field(
            text, default="initrd", checks=[not_blank("initrd_file_name field must not be blank")]
        ),
        "kernel_parameters_file_name": Field(
            text,
            default="kernel-parameters",
            checks=[not_blank("kernel_parameters_file_name field must not be blank")],
        ),
        "ssh_containers": Field(listed(_CONTAINER.load), nullable=True),
        "require_dkms": Field(boolean, default=True),
        # The real one has the same words for both sizes.
        "job_mem_size": Field(integer, checks=[_SIZE]),
    }
)
JOB_PATCH = Schema({"status": Field(text, checks=[one_of(STATUSES, _JOB_STATE)]), "resultant_image_id": Field(uuid)})


def load(schema: Schema, body: Json) -> dict[str, Json]:
    """With the defaults; refuses as the service does."""
    try:
        return schema.load(body)
    except Invalid as wrong:
        raise invalid(wrong.errors) from None
