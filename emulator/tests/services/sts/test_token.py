from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path

from csm_emulator.site import Site
from csm_emulator.transport.sigv4 import Keys
from service_client import GARBAGE, Service, open_site, reopen
from services.s3.s3_caller import Caller


def token(site: Site) -> dict[str, str]:
    reply = Service(site, "sts", "").ask("PUT", "/token")
    assert (reply.status, reply.media) == (201, "application/json")
    assert list(reply.json()) == ["Credentials"]
    credentials: dict[str, str] = reply.json()["Credentials"]
    return credentials


def test_a_token_opens_s3(tiny: Site) -> None:
    credentials = token(tiny)
    assert set(credentials) == {"AccessKeyId", "EndpointURL", "Expiration", "SecretAccessKey", "SessionToken"}
    caller = Caller(tiny, Keys(credentials["AccessKeyId"], credentials["SecretAccessKey"]), credentials["SessionToken"])
    caller.put("ims", "a", b"data")
    assert caller.get("ims", "a") == b"data"


def test_it_is_valid_for_an_hour_of_real_time(tiny: Site) -> None:
    expires = datetime.fromisoformat(token(tiny)["Expiration"])
    assert expires.utcoffset() is not None
    assert 3590 < expires.timestamp() - time.time() <= 3600


def test_each_is_another_after_a_restart_too(tmp_path: Path) -> None:
    site = open_site(tmp_path / "state")
    first, second = token(site), token(site)
    site = reopen(site)
    third = token(site)
    assert len({credentials["AccessKeyId"] for credentials in (first, second, third)}) == 3
    site.state_file.close()


def test_it_has_the_url_of_s3(tiny: Site) -> None:
    assert token(tiny)["EndpointURL"] == "http://rgw-vip.nmn"
    tiny.context.public_addresses.addresses["s3"] = "https://127.0.0.1:9000"
    assert token(tiny)["EndpointURL"] == "https://127.0.0.1:9000"


def test_a_body_is_not_looked_at(tiny: Site) -> None:
    for body in GARBAGE:
        assert Service(tiny, "sts", "").ask("PUT", "/token", body).status == 201


def test_paths_that_are_not_there(tiny: Site) -> None:
    sts = Service(tiny, "sts", "")
    assert sts.get("/healthz") == {"Status": "ok"}
    assert sts.refusal("GET", "/none")[0] == 404
    assert sts.refusal("GET", "/token") == (405, "The method is not allowed for the requested URL.")
