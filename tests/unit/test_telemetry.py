"""Log lines: one format for all modules, the id of their operation or request, and no secret."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import time
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from canton import telemetry

JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2lnbmF0dXJl"
SERVICE = "canton_01jcq5w6v7x8y9z0_s3cr3tS3cr3tS3cr3t"


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_every_logger_speaks_the_same_json(stream: io.StringIO) -> None:
    telemetry.set_up("json", "info", stream)
    logging.getLogger("uvicorn.error").warning("Invalid %s request", "HTTP")
    structlog.get_logger("canton.test").info("hello", number=3)
    logging.getLogger("canton.test").debug("not at this level")
    first, second = lines(stream)
    assert (first["event"], first["level"], first["logger"]) == ("Invalid HTTP request", "warning", "uvicorn.error")
    assert (second["event"], second["number"], second["logger"]) == ("hello", 3, "canton.test")
    assert first["at"].endswith("Z")


def test_a_console_gets_lines_for_people(stream: io.StringIO) -> None:
    telemetry.set_up("console", "info", stream)
    logging.getLogger("canton.test").info("hello", extra={"number": 3})
    [line] = stream.getvalue().splitlines()
    assert "hello" in line
    assert "number=3" in line
    assert not line.startswith("{")


def test_auto_is_json_without_a_terminal(stream: io.StringIO) -> None:
    telemetry.set_up("auto", "info", stream)
    logging.getLogger("canton.test").info("hello")
    assert lines(stream)[0]["event"] == "hello"


def test_log_lines_of_one_operation_carry_its_id_also_in_threads(stream: io.StringIO) -> None:
    telemetry.set_up("json", "info", stream)
    log = logging.getLogger("canton.test")

    async def work(name: str) -> None:
        with telemetry.carrying(operation=name):
            log.info("begun")
            await asyncio.to_thread(log.info, "in a thread")

    async def both() -> None:
        await asyncio.gather(work("op_1"), work("op_2"))
        log.info("outside")

    asyncio.run(both())
    logged = [(line.get("operation"), line["event"]) for line in lines(stream)]
    assert sorted(logged[:-1]) == sorted((op, text) for op in ("op_1", "op_2") for text in ("begun", "in a thread"))
    assert logged[-1] == (None, "outside")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"Authorization: Bearer {JWT}", JWT),
        (f"bearer {JWT} was refused", JWT),
        (f"token {JWT}", "eyJzdWIiOiJhbGljZSJ9"),
        (f"used {SERVICE} twice", SERVICE),
        ("postgresql://canton:hunter2@db/canton", "hunter2"),
        ("password=hunter2", "hunter2"),
        ("{'password': 'hunter2 and more'}", "hunter2"),
        ('{"client_secret": "hunter2"}', "hunter2"),
        ("GET /x?access_token=hunter2&y=1", "hunter2"),
        ("refresh_token: hunter2", "hunter2"),
        ("Authorization: Basic aHVudGVyMjpodW50ZXIy", "aHVudGVyMjpodW50ZXIy"),
        ("Cookie: session=hunter2", "hunter2"),
    ],
)
@pytest.mark.parametrize("form", ["json", "console"])
def test_no_secret_is_logged_wherever_it_stands(stream: io.StringIO, form: str, text: str, secret: str) -> None:
    telemetry.set_up(form, "info", stream)
    log = logging.getLogger("canton.test")
    log.info(text)
    log.info("as an argument: %s", text)
    log.info("as a fact", extra={"found": {"deep": [text]}})
    structlog.get_logger("canton.test").info("bytes", raw=text.encode())
    with telemetry.carrying(note=text):
        log.info("in the context")
    log.error("as an exception", exc_info=ValueError(text))
    assert stream.getvalue().count(telemetry.CUT) >= 6
    assert secret not in stream.getvalue()


@pytest.mark.parametrize(
    "name", ["password", "db_password", "token", "client_secret", "authorization", "Set-Cookie", "api_key"]
)
def test_a_field_with_the_name_of_a_secret_is_masked(stream: io.StringIO, name: str) -> None:
    telemetry.set_up("json", "info", stream)
    structlog.get_logger("canton.test").info("x", **{name: "plain", "inside": {name: "plain"}})
    assert "plain" not in stream.getvalue()


@pytest.mark.parametrize(
    "text",
    [
        "the token has run out; log in again",
        "op_01jcq5w6v7x8y9z0 took fence 3",
        "x1000c0s[0-3]b0n[0-1] is on",
        "sqlite:////var/lib/canton/canton.db",
        "https://login.example.org:8443/realms/hpc",
        "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
    ],
)
def test_other_fields_are_not_masked(stream: io.StringIO, text: str) -> None:
    telemetry.set_up("json", "info", stream)
    logging.getLogger("canton.test").info(text)
    assert lines(stream)[0]["event"] == text


@pytest.mark.parametrize(
    "part", ["a", "a-", "eyJaaaaa-", "token ", 'token="', "token='", "a://", "postgres://", ":@,/"]
)
def test_a_text_that_a_client_chose_costs_time_in_proportion_to_its_length(part: str) -> None:
    def seconds(size: int) -> float:
        texts = [(part * size)[:size] for _ in range(20)]
        start = time.process_time()
        for text in texts:
            telemetry.cut_secrets(None, "info", {"exception": text})
        return time.process_time() - start

    # Eight times the length: a quadratic pattern would take 64 times as long. Neither is measured below 10 ms.
    assert seconds(48_000) < 25 * max(seconds(6_000), 0.01)


def test_a_long_value_is_cut_and_says_by_how_much(stream: io.StringIO) -> None:
    telemetry.set_up("json", "info", stream)
    logging.getLogger("canton.test").info("request", extra={"path": "/" + "x" * 63_000})
    (line,) = lines(stream)
    assert line["path"] == "/" + "x" * 4095 + "… (58905 more characters)"
