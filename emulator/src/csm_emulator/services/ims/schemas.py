"""Schemas of request bodies, for marshmallow, which the real service uses too."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from marshmallow import Schema, ValidationError, fields
from marshmallow.validate import Length, OneOf, Range

from csm_emulator.records import Json
from csm_emulator.services.ims.responses import invalid

X86, ARM = "x86_64", "aarch64"
ARCHES = (ARM, X86)
CREATE, CUSTOMIZE = "create", "customize"
JOB_TYPES = (CREATE, CUSTOMIZE)
RUNNING_STATUSES = (
    "creating",
    "fetching_image",
    "fetching_recipe",
    "waiting_for_repos",
    "building_image",
    "packaging_artifacts",
    "waiting_on_user",
)
STATUSES = (*RUNNING_STATUSES, "error", "success")
RECIPE_TYPES = ("kiwi-ng", "packer")
DISTRIBUTIONS = ("sles12", "sles15", "centos7")
_RECIPE_TYPE = "Recipe type must be one of: {choices}."
_JOB_STATE = "Job state must be one of: {choices}."
_BOOLEAN = fields.Boolean()


def _not_blank(name: str) -> Length:
    return Length(min=1, error=f"{name} field must not be blank")


def _choice(choices: Sequence[str], error: str) -> fields.String:
    return fields.String(required=True, validate=OneOf(choices, error=error))


def _arch() -> fields.String:
    return fields.String(load_default=X86, validate=OneOf(ARCHES))


def _name(name: str) -> fields.String:
    return fields.String(required=True, validate=_not_blank(name))


def _size() -> fields.Integer:
    """The real service has the same message for both sizes."""
    return fields.Integer(validate=Range(min=1, error="build_env_size must be greater than or equal to 1"))


def _pairs() -> fields.List[dict[str, str]]:
    return fields.List(fields.Nested(_Pair), allow_none=True)


class _Pair(Schema):
    key = fields.String(required=True)
    value = fields.String(required=True)


class _Link(Schema):
    path = _name("name")
    etag = fields.String(load_default="")
    type = _choice(["s3"], "Type must be one of: {choices}.")


class _Metadata(Schema):
    operation = fields.String(required=True, validate=OneOf(["set", "remove"]))
    key = fields.String(required=True)
    value = fields.String()


class _Container(Schema):
    name = fields.String()
    jail = fields.Boolean(load_default=False)


class Key(Schema):
    name = _name("name")
    public_key = _name("public_key")


class Image(Schema):
    name = _name("name")
    link = fields.Nested(_Link, allow_none=True)
    arch = _arch()
    metadata = fields.Dict(keys=fields.String(), values=fields.String(), load_default=dict)


class ImagePatch(Schema):
    link = fields.Nested(_Link)
    arch = _arch()
    metadata = fields.Nested(_Metadata)


class Recipe(Schema):
    name = _name("name")
    link = fields.Nested(_Link, allow_none=True)
    recipe_type = _choice(RECIPE_TYPES, _RECIPE_TYPE)
    linux_distribution = _choice(DISTRIBUTIONS, _RECIPE_TYPE)
    template_dictionary = _pairs()
    require_dkms = fields.Boolean(load_default=True)
    arch = _arch()


class RecipePatch(Schema):
    link = fields.Nested(_Link)
    arch = _arch()
    require_dkms = fields.Boolean(load_default=True)
    template_dictionary = _pairs()


class DeletedPatch(Schema):
    operation = _choice(["undelete"], _RECIPE_TYPE)


class RemoteNode(Schema):
    xname = _name("name")


class Job(Schema):
    artifact_id = fields.UUID(required=True)
    public_key_id = fields.UUID(required=True)
    job_type = _choice(JOB_TYPES, "Job type must be one of: {choices}.")
    image_root_archive_name = _name("image_root_archive_name")
    enable_debug = fields.Boolean(load_default=False)
    build_env_size = _size()
    kernel_file_name = fields.String()
    initrd_file_name = fields.String(load_default="initrd", validate=_not_blank("initrd_file_name"))
    kernel_parameters_file_name = fields.String(
        load_default="kernel-parameters", validate=_not_blank("kernel_parameters_file_name")
    )
    ssh_containers = fields.List(fields.Nested(_Container), allow_none=True)
    require_dkms = fields.Boolean(load_default=True)
    job_mem_size = _size()


class JobPatch(Schema):
    status = fields.String(validate=OneOf(STATUSES, error=_JOB_STATE))
    resultant_image_id = fields.UUID()


def load(schema: type[Schema], body: Json) -> dict[str, Json]:
    """The body with defaults; raises ``Refused`` with the service's messages. UUIDs become text, as in records."""
    try:
        loaded: dict[str, Json] = schema().load(body)
    except ValidationError as error:
        raise invalid(error.messages) from None
    return {name: str(value) if isinstance(value, UUID) else value for name, value in loaded.items()}


def read_boolean(value: Json) -> bool | None:
    return _BOOLEAN.deserialize(value)
