"""The routes of STS."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from csm_emulator.context import Context
from csm_emulator.dialects import connexion
from csm_emulator.seed_data import session_keys
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Route

ENDPOINT = "http://rgw-vip.nmn"
"""The address of S3 inside the site, sent when S3 has no public address."""


def create_service(context: Context) -> EmulatedService:
    sts = Sts(context)
    routes = [Route("GET", "/healthz", _healthy), Route("PUT", "/token", sts.put_token)]
    mounts = [("/apis/sts", "")]
    return EmulatedService("sts", mounts, routes, connexion.not_found, connexion.wrong_method)


class Sts:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._numbers: RecordTable[int] = context.tables.open("sts.numbers")

    def put_token(self, _: Call) -> Reply:
        """New credentials; the body is ignored."""
        number = int(self._numbers.get("last", 0)) + 1
        self._numbers["last"] = number
        # Clients renew by their own clocks, so the session expires in real time.
        session = session_keys.issue(self._context.random, number, time.time())
        credentials = {
            "AccessKeyId": session.keys.access,
            "EndpointURL": self._context.public_addresses.addresses.get("s3", ENDPOINT),
            "Expiration": datetime.fromtimestamp(session.expires, UTC).isoformat("T", "microseconds"),
            "SecretAccessKey": session.keys.secret,
            "SessionToken": session.token,
        }
        return connexion.json_reply({"Credentials": credentials}, 201)


def _healthy(_: Call) -> Reply:
    return connexion.json_reply({"Status": "ok"})
