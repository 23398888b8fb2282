"""The comparison itself: a real service equals itself, and differences are detected."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings

from differential.accepted_differences import AcceptedDifference
from differential.answers import Answer, Mask, masked
from differential.backends import Oracles
from differential.comparison import Tally, UnexplainedDifference, perform, pick, play
from differential.generators.sequences import AREAS, sequences
from differential.sequence import Sequence, Step, get, post, wait


@pytest.mark.parametrize("area", AREAS)
def test_a_real_service_answers_twice_alike(area: str, real: Oracles) -> None:
    @settings(max_examples=15, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(sequences(area))
    def twice(sequence: Sequence) -> None:
        assert perform(sequence, real) == perform(sequence, real)

    twice()


@dataclass
class Script:
    """A backend with scripted answers."""

    answers: list[Answer]
    requests: list[Step] = field(default_factory=list)

    def reset(self, sequence: Sequence) -> bool:  # noqa: ARG002 (always from the first line)
        self.remaining = list(self.answers)
        return False

    def mark_prepared(self) -> None: ...

    def send(self, step: Step) -> Answer:
        self.requests.append(step)
        return self.remaining.pop(0)

    def pause(self, seconds: float) -> None: ...


def json_answer(body: object, status: int = 200, **headers: str) -> Answer:
    return Answer(status, {"content-type": "application/json", **headers}, json.dumps(body).encode())


ONE, TWO, THREE = (f"{digit * 8}-0000-4000-8000-{digit * 12}" for digit in "123")
NOW = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())


def compare(real: object, ours: object) -> Tally:
    tally = Tally()
    play(
        Sequence("one", get("smd:/hsm/v2/State/Components")),
        Script([json_answer(real)]),
        Script([json_answer(ours)]),
        tally,
        (),
    )
    return tally


@pytest.mark.parametrize(
    ("real", "ours"),
    [
        pytest.param({"id": ONE}, {"id": TWO}, id="identifiers have other values"),
        pytest.param({"id": "x0c0s0b0n0-ce2bf8ce2a23"}, {"id": "x0c0s0b0n0-ad758836c127"}, id="instances"),
        pytest.param({"t": f"{NOW}.123456Z"}, {"t": f"{NOW}.9Z"}, id="moments have other values"),
        pytest.param({"t": int(time.time())}, {"t": int(time.time()) + 3}, id="seconds have other values"),
        pytest.param(
            {"Components": [{"ID": "a"}, {"ID": "b"}]}, {"Components": [{"ID": "b"}, {"ID": "a"}]}, id="no order"
        ),
        pytest.param({"a": 1, "b": 2}, {"b": 2, "a": 1}, id="the order of names"),
    ],
)
def test_what_must_differ_is_alike(real: object, ours: object) -> None:
    assert compare(real, ours).requests.total() == 1


@pytest.mark.parametrize(
    ("real", "ours"),
    [
        pytest.param({"a": 1}, {"a": 1.0}, id="numbers"),
        pytest.param({"a": 1}, {"a": True}, id="a number that is a truth value"),
        pytest.param({"a": None}, {}, id="null and nothing"),
        pytest.param({"a": []}, {"a": None}, id="empty and null"),
        pytest.param({"t": f"{NOW}.5Z"}, {"t": f"{NOW}Z"}, id="the shape of moments"),
        pytest.param({"t": "2001-01-01T00:00:00Z"}, {"t": "2002-01-01T00:00:00Z"}, id="moments that no clock made"),
        pytest.param({"a": ONE, "b": ONE}, {"a": ONE, "b": TWO}, id="identifiers that should be the same"),
        pytest.param({"a": [1, 2]}, {"a": [2, 1]}, id="order"),
        pytest.param({"a": "x"}, "x", id="another kind of thing"),
    ],
)
def test_a_difference_is_seen(real: object, ours: object) -> None:
    with pytest.raises(UnexplainedDifference):
        compare(real, ours)


@pytest.mark.parametrize("ours", [json_answer({}, 201), json_answer({}, location="/x"), Answer(200, {}, b"{}")])
def test_status_and_headers_count(ours: Answer) -> None:
    with pytest.raises(UnexplainedDifference):
        play(Sequence("one", get("smd:/hsm/v2/groups")), Script([json_answer({})]), Script([ours]), Tally(), ())


def test_an_explanation_must_fit_whole() -> None:
    sequence = Sequence("one", get("smd:/hsm/v2/groups"))
    sides = Script([json_answer({"a": 1})]), Script([json_answer({"a": 2})])
    tally = Tally()
    fitting = AcceptedDifference(r"smd GET /hsm/v2/groups body/a: real 1 ours 2", "because")
    play(sequence, *sides, tally, (fitting,))
    assert tally.explained[fitting.pattern] == 1
    with pytest.raises(UnexplainedDifference):
        play(sequence, *sides, tally, (AcceptedDifference(r"smd GET /hsm/v2/groups body/a: real 1", "because"),))


def test_values_of_replies_go_into_later_requests() -> None:
    sequence = Sequence(
        "values of replies",
        post("smd:/a", {}, keep={"key": "body/Success/0/Key", "token": "header/location"}),
        wait(0.1),
        post("smd:/b/<key>?t=<token>", {"keys": ["<key>", "<nothing>"]}, headers={"X-Key": "<key>"}),
    )
    side = Script([json_answer({"Success": [{"Key": ONE}]}, location="here"), json_answer({})])
    perform(sequence, side)
    request = side.requests[1]
    assert (request.path, request.body) == (f"/b/{ONE}?t=here", {"keys": [ONE, "<nothing>"]})
    assert request.headers == {"X-Key": ONE}


def test_a_value_is_found_by_another_of_its_fields() -> None:
    answer = json_answer({"Success": [{"ID": "a", "Key": "1"}, {"ID": "b", "Key": "2"}]})
    assert pick(answer, "body/Success/ID=b/Key") == "2"
    assert pick(answer, "body/Success/ID=c/Key") is None
    assert pick(answer, "body/Success/5/Key") is None


def test_a_sequence_shows_as_it_is_written() -> None:
    step = post("smd:/a?x=1", {"a": None}, headers={"X": "1"}, keep={"k": "body/a"})
    assert repr(step) == "post('smd:/a?x=1', {'a': None}, headers={'X': '1'}, keep={'k': 'body/a'})"
    assert repr(post("smd:/a", raw=b"")) == "post('smd:/a', raw=b'')"


def test_addresses_that_are_signed_differ_in_keys_and_moment_only() -> None:
    def script(key: str, day: str, expires: str) -> Answer:
        scope = f"{key}%2F{day}%2Fdefault%2Fs3%2Faws4_request"
        query = f"X-Amz-Credential={scope}&X-Amz-Date={day}T120000Z&X-Amz-Expires={expires}"
        return Answer(200, {}, f"kernel http://rgw/k?{query}&X-Amz-Signature={'ab' * 32} quiet".encode())

    first, second = (
        masked(script(*facts), Mask(""), ()) for facts in (("A1", "20260101", "9"), ("B2", "20270202", "9"))
    )
    assert first == second
    assert first != masked(script("A1", "20260101", "8"), Mask(""), ())


def test_an_identifier_of_the_request_stays() -> None:
    assert masked(json_answer({"id": ONE, "new": THREE}), Mask(ONE), ()).body == {"id": ONE, "new": "<uuid 1>"}
