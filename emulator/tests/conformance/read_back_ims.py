"""IMS: writes, and where else they show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from conformance.legal_values import LABELS, NEW_NODES, TEXT
from conformance.read_back import ReadBack, Row, Thing, get
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.seed_data.images import images, recipes
from csm_emulator.state.random import SeededRandom

_TINY = topologies.load("tiny")
_IMAGE, _RECIPE = images(_TINY, SeededRandom(1))[0], recipes(_TINY, SeededRandom(1))[0]
_NAME = TEXT.filter(str.strip)
_ARCH = st.sampled_from(["x86_64", "aarch64"])
_NEW = ("id", "created")


def _without_new(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in _NEW}


def _everywhere(kind: str, expected: Callable[[Thing], Any], *versions: str) -> Sequence[ReadBack]:
    """Reads on the path of the new record and in the list, in all versions."""
    return [
        read_back
        for version in versions
        for read_back in (
            ReadBack(_one(f"{version}/{kind}"), lambda body, _: _without_new(body), expected),
            ReadBack(
                get(_constant(f"{version}/{kind}")),
                lambda body, thing: expected(thing) in [_without_new(record) for record in body],
                lambda _: True,
            ),
        )
    ]


def _one(path: str) -> Callable[[Thing, Any], tuple[str, str, None]]:
    return lambda _, answer: ("GET", f"{path}/{answer['id']}", None)


def _constant(path: str) -> Callable[[Thing], str]:
    return lambda _: path


_VERSIONS = ("/v3", "/v2", "")

IMAGE = Row(
    "image",
    "ims",
    st.fixed_dictionaries({"name": _NAME, "arch": _ARCH, "metadata": st.dictionaries(TEXT, TEXT, max_size=3)}),
    lambda thing: ("POST", "/v3/images", thing),
    _everywhere("images", lambda thing: {**thing, "link": None}, *_VERSIONS),
)
_PAIRS = st.lists(st.fixed_dictionaries({"key": TEXT, "value": TEXT}), max_size=3)
RECIPE = Row(
    "recipe",
    "ims",
    st.fixed_dictionaries(
        {
            "name": _NAME,
            "arch": _ARCH,
            "recipe_type": st.sampled_from(["kiwi-ng", "packer"]),
            "linux_distribution": st.sampled_from(["sles12", "sles15", "centos7"]),
            "require_dkms": st.booleans(),
            "template_dictionary": _PAIRS,
        }
    ),
    lambda thing: ("POST", "/v3/recipes", thing),
    _everywhere("recipes", lambda thing: {**thing, "link": None}, *_VERSIONS),
)
PUBLIC_KEY = Row(
    "public key",
    "ims",
    st.fixed_dictionaries({"name": _NAME, "public_key": _NAME}),
    lambda thing: ("POST", "/v3/public-keys", thing),
    _everywhere("public-keys", lambda thing: thing, *_VERSIONS),
)
BUILD_NODE = Row(
    "remote build node",
    "ims",
    st.fixed_dictionaries({"xname": NEW_NODES}),
    lambda thing: ("POST", "/v3/remote-build-nodes", thing),
    [
        ReadBack(
            get(lambda thing: f"/v3/remote-build-nodes/{thing['xname']}"), lambda body, _: body, lambda thing: thing
        ),
        ReadBack(get(lambda _: "/v3/remote-build-nodes"), lambda body, thing: thing in body, lambda _: True),
        ReadBack(
            get(lambda _: "/v3/remote-build-nodes/status"),
            lambda body, thing: thing["xname"] in [record["xname"] for record in body],
            lambda _: True,
        ),
    ],
    clean_up=lambda thing: [("DELETE", f"/v3/remote-build-nodes/{thing['xname']}", None)],
)

_KEY = {"name": "k", "public_key": "ssh-rsa AAAAB3Nza canton"}
_JOBS: dict[Any, str] = {"customize": _IMAGE.id, "create": _RECIPE.id}
_JOB = st.fixed_dictionaries(
    {
        "job_type": st.sampled_from(sorted(_JOBS)),
        "image_root_archive_name": _NAME,
        "kernel_file_name": LABELS,
        "initrd_file_name": LABELS,
        "kernel_parameters_file_name": LABELS,
        "build_env_size": st.integers(1, 1000),
        "job_mem_size": st.integers(1, 1000),
        "enable_debug": st.booleans(),
        "require_dkms": st.booleans(),
    }
).map(lambda thing: {**thing, "artifact_id": _JOBS[thing["job_type"]]})


def _job_in(version: str) -> ReadBack:
    return ReadBack(
        _one(f"{version}/jobs"), lambda body, thing: {name: body[name] for name in thing}, lambda thing: thing
    )


JOB = Row(
    "job",
    "ims",
    _JOB,
    lambda thing: ("POST", "/v3/jobs", thing),
    [_job_in(version) for version in _VERSIONS],
    lambda _: [("POST", "/v3/public-keys", _KEY)],
    lambda _: [("DELETE", "/v3/jobs", None)],
    complete=lambda request, key: (*request[:2], {**request[2], "public_key_id": key["id"]}),
)

ROWS = (IMAGE, RECIPE, PUBLIC_KEY, BUILD_NODE, JOB)
