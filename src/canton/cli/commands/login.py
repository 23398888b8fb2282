"""``canton login`` and ``canton logout``."""

from __future__ import annotations

import re
import sys
import time
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import click

from canton.cli.input.options import connected
from canton.cli.output.terminal import say
from canton.cli.session import contexts
from canton.cli.session import paths as places
from canton.cli.session.session import Session
from canton.client import credentials as keeping
from canton.client.credentials import Kept, Token
from canton.domain.errors import InvalidSetting, NotAuthenticated
from canton.domain.harmless import one_line

if TYPE_CHECKING:
    from canton.client.objects import Login
    from canton.client.oidc import Grant, Issuer

LONGEST_TOKEN = 16_384
LONGEST_CODE = 40


@click.command(
    epilog="\b\nExamples:\n  canton login --server https://canton.example.org\n  canton login --web\n"
    "  canton login --token-stdin < token"
)
@click.option("--web", is_flag=True, help="In a browser on this machine, instead of a code for any browser.")
@click.option("--token-stdin", is_flag=True, help="With a token from standard input, such as a service account's.")
@click.option("--issuer", metavar="URL", help="The issuer; the server names it if this does not.")
@click.option("--client-id", metavar="ID", help="The client to log in as; the server names it if this does not.")
@connected
def login(session: Session, web: bool, token_stdin: bool, issuer: str | None, client_id: str | None) -> None:
    """Log in to a server.

    Without options it prints a code and an address: open that in any browser, on any machine,
    and check that it shows the code.
    The tokens are kept under $XDG_STATE_HOME/canton, readable by you alone. With --server, a context is made for it,
    called as --context says.
    """
    if web and token_stdin:
        raise click.UsageError("Choose one of --web and --token-stdin.")
    session = session.naming_a_context()
    kept: Kept = {"server": session.server, "ca": session.ca}
    if token_stdin:
        kept["access_token"] = _token_from_stdin()
    else:
        chosen = _issuer(session, issuer, client_id)
        grant = _in_browser(chosen) if web else _by_code(chosen)
        kept = cast("Kept", {**kept, **grant, "issuer": chosen.url, "client_id": chosen.client_id})
    with session.connect(Token(kept["access_token"])) as client:
        me = client.whoami()
    session = _with_context(session)
    keeping.write(session.credentials_file, kept)
    named = f", context {session.context_name}" if session.context_name else ""
    say(f"canton: logged in to {session.server} as {me['id']}{named}")
    if other := session.other_context:
        say(f"canton: other commands need --context {other}; or make it the current one: canton context use {other}")


@click.command(epilog="\b\nExample:\n  canton logout")
@connected
def logout(session: Session) -> None:
    """Forget the login, and tell the issuer to forget it as well."""
    path = session.credentials_file
    kept: Kept | None = None
    try:
        kept = keeping.read(path)
    except NotAuthenticated as error:
        say(f"canton: {error.message}")
    if not path.exists():
        say(f"canton: not logged in to {session.server}; nothing to do")
        return
    path.unlink()
    if kept and not _revoked(kept):
        say("canton: the issuer could not be told; its refresh token ends by itself")
    say(f"canton: logged out of {session.server}")


def _revoked(kept: Kept) -> bool:
    from canton.client.errors import Unreachable  # noqa: PLC0415
    from canton.client.oidc import Issuer  # noqa: PLC0415

    if "refresh_token" not in kept or "issuer" not in kept:
        return True
    try:
        return Issuer(kept["issuer"], kept["client_id"], ca=kept.get("ca")).revoke(kept["refresh_token"])
    except (Unreachable, NotAuthenticated):
        return False


def _token_from_stdin() -> str:
    token = sys.stdin.read(LONGEST_TOKEN + 1).strip()
    if not token or len(token) > LONGEST_TOKEN or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise InvalidSetting("standard input holds no token; a token is one word of visible ASCII")
    return token


def _issuer(session: Session, url: str | None, client_id: str | None) -> Issuer:
    from canton.client.oidc import Issuer  # noqa: PLC0415

    told = None if url else _told(session)
    if url is None and told is None:
        raise NotAuthenticated(f"{session.server} names no issuer to log in with; give --issuer, or use --token-stdin")
    found = url or (told["issuer"] if told else "")
    audience = told.get("audience") if told else None
    return Issuer(found, client_id or (told["client_id"] if told else "canton-cli"), audience, session.ca)


def _told(session: Session) -> Login | None:
    with session.connect(Token(None)) as client:
        return client.version().get("login")


def _by_code(issuer: Issuer) -> Grant:
    device = issuer.start_device()
    say(f"Open this address in any browser:\n  {device.complete_uri}")
    # One line of it: the rest of what an issuer calls a code could read as if it came from here.
    say(f"and check that it shows the code:\n  {one_line(device.user_code)[:LONGEST_CODE]}")
    return issuer.poll_device(device)


def _in_browser(issuer: Issuer) -> Grant:
    """Code with PKCE: the browser comes back to a port of this machine that is open for this alone."""
    import webbrowser  # noqa: PLC0415

    from canton.cli.session.login_listener import Listener  # noqa: PLC0415
    from canton.client.oidc import new_secret  # noqa: PLC0415

    state, verifier = new_secret(), new_secret()
    with Listener() as listener:
        url = issuer.authorize_url(listener.redirect, state, verifier)
        say(f"Log in with your browser. If it does not open, visit:\n  {url}")
        webbrowser.open(url)
        told = listener.wait(deadline=time.monotonic() + 300, state=state)
    if "code" not in told:
        raise NotAuthenticated(f"the issuer refused: {told.get('error_description') or told.get('error')}")
    if told.get("iss", issuer.url).rstrip("/") != issuer.url:
        raise NotAuthenticated(f"the answer came from another issuer, {told['iss']}; nothing was sent to it")
    return issuer.redeem(told["code"], listener.redirect, verifier)


def _with_context(session: Session) -> Session:
    """The session in a context of its own server, made and used if there is none yet."""
    name, server = session.context_name, session.server
    if name in session.contexts.known and (session.context.server or "").rstrip("/") == server:
        return session
    if name is None:
        name = re.sub(r"[^A-Za-z0-9._-]", "-", (urlsplit(server).hostname or "").partition(".")[0]) or "default"
        if name in session.contexts.known:
            return session
    elif name in session.contexts.known:
        return session
    contexts.put(places.user_config(), name, {"server": server})
    if contexts.load().current is None:
        contexts.use(places.user_config(), name)
    return Session({"context": name, "server": server})
