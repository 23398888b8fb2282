"""The samples of the tests and the types of the SDK are what the API describes; an invented field turns this red."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from canton.client import objects
from canton.domain.errors import PermanentFailure
from canton.domain.operation import OperationState, StepState
from canton.operations.engine.judge import describe
from canton.operations.engine.schedule import make_schedule
from canton.operations.kinds import set_power
from canton.operations.plan.plan import Plan, Step
from canton.operations.planners.node_lifecycle import ACTIONS
from canton.store.operations.journal import StepRow
from client import samples
from client.api_description import SCHEMAS, differences
from client.scripted_server import Script, items

SAMPLES = {
    "Approval": samples.approval(),
    "Binding": samples.binding(),
    "CanI": samples.decision(),
    "Event": samples.event(),
    "IssuedToken": samples.issued_token(),
    "Node": samples.node(),
    "ListedPlan": samples.listed_plan(),
    "Operation": samples.operation(),
    "Plan": samples.plan(),
    "Quota": samples.quota(),
    "Record": samples.record(),
    "Role": samples.role(),
    "ServiceAccount": samples.account(),
    "Site": samples.site(),
    "Step": samples.step(1, "x1000c0s0b0n0"),
    "Tenant": samples.tenant(),
    "Token": samples.token(),
    "Whoami": samples.whoami(),
}
# The SDK's name of each schema, where it is not the same.
NAMES = {"AccountToken": "Token", "Decision": "CanI", "Held": "HeldRole", "DeletedNodes": "Deleted"}
# A row of an import is inside the body of its request.
INSIDE = {"NewNode": SCHEMAS["NodeImport"]["properties"]["nodes"]["items"]}
TYPES = {name: member for name, member in vars(objects).items() if is_typeddict(member)}
JSON_TYPES = {str: "string", int: "integer", bool: "boolean", list: "array", dict: "object", type(None): "null"}


def check_sample(name: str, sample: dict[str, Any]) -> None:
    """Check that the sample is an object of this schema, with all its fields and no others."""
    assert differences(SCHEMAS[name], sample) == []
    assert sample.keys() == SCHEMAS[name]["properties"].keys()


@pytest.mark.parametrize("line", ["GET /v1/service-accounts/sa_1/tokens", "GET /v1/plans"])
def test_an_invented_answer_is_noticed(line: str) -> None:
    with pytest.raises(AssertionError, match="unexpected"):
        Script().on(line, items(samples.issued_token(), samples.plan()))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_is_an_object_of_the_api(name: str) -> None:
    check_sample(name, SAMPLES[name])


def test_what_an_operation_says_of_failures_is_what_the_engine_writes() -> None:
    """The description leaves ``attention`` and ``error`` open."""
    step = Step(1, set_power.NAME, "x1000c0s0b0n0", "pcs", {"power": "on"})
    error = describe(PermanentFailure("no answer"))
    row = StepRow(1, step.kind, step.target, StepState.FAILED, acts=1, error=error)
    summary = make_schedule(Plan("node.power", "power on", (step,)), [row], OperationState.RUNNING).rest(None)
    assert summary.attention == samples.attention(samples.failed(1, step.target, "no answer"))


def test_a_sample_names_kinds_that_there_are() -> None:
    kinds = {"node.power", *(f"node.{verb}" for verb in ACTIONS)}
    assert {SAMPLES["Operation"]["kind"], SAMPLES["Plan"]["kind"]} <= kinds
    steps = [SAMPLES["Step"], *SAMPLES["Plan"]["steps"]]
    assert {step["kind"] for step in steps} == {set_power.NAME}


@pytest.mark.parametrize("name", TYPES)
def test_a_type_of_the_sdk_has_the_fields_of_the_api(name: str) -> None:
    schema = INSIDE.get(name) or SCHEMAS[NAMES.get(name, name)]
    hints = get_type_hints(TYPES[name], None, {"Json": object})
    assert hints.keys() == schema["properties"].keys()
    # What is sent may be less than what would be taken; what comes must be all that may come.
    for field, hint in hints.items() if name not in INSIDE else ():
        described = json_types(schema["properties"][field])
        assert not described or python_types(hint) >= described, f"{name}.{field}"


def json_types(schema: Any) -> set[str]:
    """The types that a value may have; none when the schema does not say."""
    if "$ref" in schema:
        return json_types(SCHEMAS[schema["$ref"].rpartition("/")[2]])
    if "anyOf" in schema:
        return set().union(*(json_types(variant) for variant in schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return {JSON_TYPES[type(value)] for value in schema.get("enum", [schema.get("const")])}
    return {schema["type"]} if "type" in schema else set()


def python_types(hint: Any) -> set[str]:
    if get_origin(hint) in (Union, types.UnionType):
        return set().union(*(python_types(variant) for variant in get_args(hint)))
    if is_typeddict(hint):
        return {"object"}
    if hint is object:
        return set(JSON_TYPES.values())
    return {JSON_TYPES.get(get_origin(hint) or hint, "object")}
