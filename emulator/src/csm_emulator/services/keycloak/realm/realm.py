"""A realm: its users, its clients, its keys, and the sessions of users who are logged in."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from csm_emulator.context import Context
from csm_emulator.records import Json, Record
from csm_emulator.services.keycloak import wall_clock
from csm_emulator.services.keycloak.realm.keys import Keys
from csm_emulator.services.keycloak.realm.users import Account, Client
from csm_emulator.services.keycloak.responses import Form, OAuthError, basic_credentials
from csm_emulator.state.tables import RecordTable
from csm_emulator.transport.call import Call

REALMS = "/keycloak/realms"
PATH = f"{REALMS}/shasta"
YEAR = 31_536_000
SETTINGS: dict[str, int] = {
    # CSM documents 365 days (csm.md §1); the others are Keycloak's defaults, with a session as long as its tokens.
    "access_token_lifespan": YEAR,
    "session_lifespan": YEAR,
    "device_code_lifespan": 600,
    "device_polling_interval": 5,
}
MAX_SESSIONS = 10_000
"""The oldest sessions end above this number, since a client that logs in for each request would fill the disk."""
INVALID_CLIENT = "Invalid client or Invalid client credentials"


@dataclass(frozen=True, slots=True)
class Session:
    """A user who is logged in with a client."""

    id: str
    username: str
    client: str
    scope: str
    started: float
    by_form: bool = False
    """The user logged in in a browser; tokens then have ``auth_time``."""


class Realm:
    def __init__(
        self,
        context: Context,
        account: Callable[[str], Account | None],
        clients: Mapping[str, Client],
        path: str = PATH,
        table: str = "keycloak",
        settings: Mapping[str, int] = SETTINGS,
    ) -> None:
        """``account`` returns the account of a username; ``table`` is the prefix of the tables' names."""
        self.context = context
        self.account = account
        self.clients = clients
        self.keys = Keys(context.tables.open(f"{table}.keys"))
        self.settings = context.tables.open(f"{table}.settings", settings)
        self._path = path
        self._sessions: RecordTable[list[Json]] = context.tables.open(f"{table}.sessions")
        self._revoked: RecordTable[float] = context.tables.open(f"{table}.revoked")
        self._count = 0

    def issuer(self, call: Call) -> str:
        """The issuer, with the host name that the caller used, as with ``hostname-strict=false``."""
        return origin(call) + self._path

    def subject(self, account: Account) -> str:
        return self.context.random.uuid("keycloak", "account", account.username)

    def new_id(self, moment: float) -> str:
        return wall_clock.identifier(moment, self.new_code(20, moment))

    def new_code(self, digits: int, moment: float) -> str:
        self._count += 1
        return self.context.random.hex(digits, "keycloak", "code", moment, self._count)

    def log_in(self, username: str, password: str) -> Account | None:
        """The account; None when name or password is wrong. As in Keycloak, only passwords are case sensitive."""
        account = self.account(username.lower())
        expected = account.password if account else ""
        matches = secrets.compare_digest(expected.encode(), password.encode("utf-8", "replace"))
        return account if matches and expected else None

    def client_of(self, call: Call, form: Form) -> Client:
        """The client that calls, by the form or else by HTTP Basic. Raises ``OAuthError``."""
        name, secret = basic_credentials(call.headers) or ("", "")
        client = self.clients.get(form.get("client_id", name))
        if client is None:
            raise OAuthError(401, "invalid_client", INVALID_CLIENT)
        client_secret = form.get("client_secret", secret).encode("utf-8", "replace")
        if client.secret and not secrets.compare_digest(client.secret.encode(), client_secret):
            raise OAuthError(401, "unauthorized_client", INVALID_CLIENT)
        return client

    def begin(self, account: Account, client: Client, scope: str, *, by_form: bool = False) -> Session:
        moment = wall_clock.now()
        session = Session(self.new_code(24, moment), account.username, client.id, scope, moment, by_form)
        while len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[session.id] = [session.username, session.client, session.scope, session.started, by_form]
        return session

    def session(self, identity: Json) -> Session | None:
        """The session with this id, if it has not ended."""
        row = self._sessions.get(identity) if isinstance(identity, str) else None
        if row is None:
            return None
        session = Session(identity, *row)
        return session if self.ends(session) > wall_clock.now() and self.account(session.username) else None

    def ends(self, session: Session) -> float:
        lifespan: float = self.settings["session_lifespan"]
        return session.started + lifespan

    def end(self, identity: str) -> None:
        self._sessions.pop(identity, None)

    def revoke(self, token: Record) -> None:
        moment = wall_clock.now()
        for identity in [identity for identity, ends in self._revoked.items() if ends < moment]:
            del self._revoked[identity]
        self._revoked[str(token.get("jti"))] = token.get("exp", moment)

    def revoked(self, token: Record) -> bool:
        return str(token.get("jti")) in self._revoked

    def is_live(self, token: Record) -> bool:
        in_session = "sid" not in token or self.session(token["sid"]) is not None
        return in_session and not self.revoked(token)


def origin(call: Call) -> str:
    return "/".join(call.base.split("/")[:3])
