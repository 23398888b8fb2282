"""A gateway in front of a machine's services, called as from outside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from csm_emulator.gateway.gateway import Gateway
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.services.keycloak.realm.users import users
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile
from csm_emulator.transport.call import Call, Reply

HERE = "https://localhost:8443"


class GatewayClient:
    def __init__(self, site: Site) -> None:
        self.site = site
        self.gateway = Gateway(site.context, site.services.values())
        self.passwords = {user.username: user.password for user in users(site.context)}

    def find(self, method: str, target: str, headers: Mapping[str, str] | None = None, base: str = HERE) -> Any:
        """(service, call), or the gateway's own reply."""
        return self.gateway.answer(Call(method, "", (), headers or {}, b"", "192.0.2.1", base, target=target))

    def status(self, method: str, target: str, headers: Mapping[str, str] | None = None, base: str = HERE) -> int:
        """The status of the gateway's own reply; 0 for a request that it passes on."""
        route = self.find(method, target, headers, base)
        return route.status if isinstance(route, Reply) else 0

    def log_in(self, username: str, base: str = HERE) -> dict[str, Any]:
        form = f"grant_type=password&client_id=shasta&username={username}&password={self.passwords[username]}"
        target = "/keycloak/realms/shasta/protocol/openid-connect/token"
        media = {"content-type": "application/x-www-form-urlencoded"}
        reply = self.gateway.answer(Call("POST", "", (), media, form.encode(), "192.0.2.1", base, target=target))
        assert isinstance(reply, tuple)
        answer: dict[str, Any] = self.site.ask(*reply).json()
        return answer

    def token(self, username: str) -> dict[str, str]:
        """A header with a new token."""
        return bearer(self.log_in(username)["access_token"])

    def side(self, switch: str, body: Any = None) -> Any:
        return self.site.mesh.ask("keycloak", "POST", f"/control/{switch}", body or {}).json()

    def minted(self, **claims: Any) -> str:
        token: str = self.side("mint", claims)["token"]
        return token


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayClient]:
    """A gateway for tests that change nothing; it is shared because the generation of keys is slow."""
    state_file = StateFile(tmp_path_factory.mktemp("door") / "tiny.state")
    yield GatewayClient(Site(StartOptions(topologies.load("tiny"), seed=1, speed=0.0), state_file))
    state_file.close()


@pytest.fixture
def own_client(tiny: Site) -> GatewayClient:
    return GatewayClient(tiny)
