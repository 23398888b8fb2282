"""``canton login`` and ``canton logout``."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import click

from canton.cli.input.options import session_options
from canton.cli.output.terminal import say
from canton.cli.session import contexts
from canton.cli.session import paths as places
from canton.cli.session.session import Session
from canton.client import credentials as keeping
from canton.client.credentials import StoredLogin, Token
from canton.domain.errors import InvalidSetting, NotAuthenticated
from canton.domain.terminal_text import one_line

if TYPE_CHECKING:
    from canton.client.objects import Login
    from canton.client.oidc import Grant, Issuer

LONGEST_TOKEN = 16_384
LONGEST_CODE = 40


@click.command(
    epilog="\b\nExamples:\n  canton login --server https://canton.example.org\n  canton login --web\n"
    "  canton login --token-stdin < token"
)
@click.option("--web", is_flag=True, help="Log in with a browser on this machine, instead of with a code.")
@click.option(
    "--token-stdin", is_flag=True, help="Read a token from standard input, such as that of a service account."
)
@click.option("--issuer", metavar="URL", help="The address of the issuer; default: the one that the server names.")
@click.option("--client-id", metavar="ID", help="The OIDC client id; default: the one that the server names.")
@session_options
def login(session: Session, web: bool, token_stdin: bool, issuer: str | None, client_id: str | None) -> None:
    """Log in to a server.

    Without options it prints a code and an address: open that in any browser, on any machine,
    and check that it shows the code.
    The tokens are stored under $XDG_STATE_HOME/canton, readable only by you. With --server, a context for this server
    is created; --context gives its name.
    """
    if web and token_stdin:
        raise click.UsageError("Choose one of --web and --token-stdin.")
    session = session.naming_a_context()
    stored_login: StoredLogin = {"server": session.server, "ca": session.ca}
    if token_stdin:
        stored_login["access_token"] = _token_from_stdin()
    else:
        issuer_client = _issuer(session, issuer, client_id)
        grant = _in_browser(issuer_client) if web else _by_code(issuer_client)
        origin = {"issuer": issuer_client.url, "client_id": issuer_client.client_id}
        stored_login = cast("StoredLogin", {**stored_login, **grant, **origin})
    with session.connect(Token(stored_login["access_token"])) as client:
        me = client.whoami()
    session = _with_context(session)
    keeping.write(session.credentials_file, stored_login)
    context_text = f", context {session.context_name}" if session.context_name else ""
    say(f"canton: logged in to {session.server} as {me['id']}{context_text}")
    if context_name := session.other_context:
        say(
            f"canton: other commands need --context {context_name}; "
            f"or make it the current one: canton context use {context_name}"
        )


@click.command(epilog="\b\nExample:\n  canton logout")
@session_options
def logout(session: Session) -> None:
    """Delete the stored login, and revoke it at the issuer."""
    path = session.credentials_file
    stored_login: StoredLogin | None = None
    try:
        stored_login = keeping.read(path)
    except NotAuthenticated as error:
        say(f"canton: {error.message}")
    if not path.exists():
        say(f"canton: not logged in to {session.server}; nothing to do")
        return
    path.unlink()
    if stored_login and not _revoke(stored_login):
        say("canton: the refresh token could not be revoked at the issuer; it stays valid until it expires")
    say(f"canton: logged out of {session.server}")


def _revoke(stored_login: StoredLogin) -> bool:
    from canton.client.errors import Unreachable  # noqa: PLC0415
    from canton.client.oidc import Issuer  # noqa: PLC0415

    if "refresh_token" not in stored_login or "issuer" not in stored_login:
        return True
    try:
        return Issuer(stored_login["issuer"], stored_login["client_id"], ca=stored_login.get("ca")).revoke(
            stored_login["refresh_token"]
        )
    except (Unreachable, NotAuthenticated):
        return False


def _token_from_stdin() -> str:
    token = sys.stdin.read(LONGEST_TOKEN + 1).strip()
    if not token or len(token) > LONGEST_TOKEN or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise InvalidSetting("standard input holds no token; a token is one word of visible ASCII")
    return token


def _issuer(session: Session, url: str | None, client_id: str | None) -> Issuer:
    from canton.client.oidc import Issuer  # noqa: PLC0415

    login_settings = None if url else _login_settings(session)
    if url is None and login_settings is None:
        raise NotAuthenticated(f"{session.server} names no issuer to log in with; give --issuer, or use --token-stdin")
    issuer_url = url or (login_settings["issuer"] if login_settings else "")
    audience = login_settings.get("audience") if login_settings else None
    return Issuer(
        issuer_url, client_id or (login_settings["client_id"] if login_settings else "canton-cli"), audience, session.ca
    )


def _login_settings(session: Session) -> Login | None:
    with session.connect(Token(None)) as client:
        return client.version().get("login")


def _by_code(issuer: Issuer) -> Grant:
    device = issuer.start_device()
    say(f"Open this address in any browser:\n  {device.complete_uri}")
    # Only one line: further lines of what the issuer sends could look like messages of this command.
    say(f"and check that it shows the code:\n  {one_line(device.user_code)[:LONGEST_CODE]}")
    return issuer.poll_device(device)


def _in_browser(issuer: Issuer) -> Grant:
    """Authorization code with PKCE: the browser is redirected to a port of this machine, open only for this."""
    import webbrowser  # noqa: PLC0415

    from canton.cli.session.login_listener import Listener  # noqa: PLC0415
    from canton.client.oidc import new_secret  # noqa: PLC0415

    state, verifier = new_secret(), new_secret()
    with Listener() as listener:
        url = issuer.authorize_url(listener.redirect, state, verifier)
        say(f"Log in with your browser. If it does not open, visit:\n  {url}")
        webbrowser.open(url)
        parameters = listener.wait(deadline=time.monotonic() + 300, state=state)
    if "code" not in parameters:
        raise NotAuthenticated(f"the issuer refused: {parameters.get('error_description') or parameters.get('error')}")
    if parameters.get("iss", issuer.url).rstrip("/") != issuer.url:
        raise NotAuthenticated(f"the answer came from another issuer, {parameters['iss']}; nothing was sent to it")
    return issuer.redeem(parameters["code"], listener.redirect, verifier)


def _with_context(session: Session) -> Session:
    """The session in a context of its server; the context is created, and made current if none was, if need be."""
    name, server = session.context_name, session.server
    if name in session.contexts.by_name and (session.context.server or "").rstrip("/") == server:
        return session
    if name is None:
        name = re.sub(r"[^A-Za-z0-9._-]", "-", (urlsplit(server).hostname or "").partition(".")[0]) or "default"
        if name in session.contexts.by_name:
            return session
    elif name in session.contexts.by_name:
        return session
    contexts.put(places.user_config(), name, {"server": server})
    if contexts.load().current is None:
        contexts.use(places.user_config(), name)
    return Session({"context": name, "server": server})
