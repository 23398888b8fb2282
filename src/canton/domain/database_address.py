"""Shows a database's address without its secrets: only parts that are known to be harmless stay.

An address is a URL of SQLAlchemy or libpq, or libpq's ``keyword=value`` text. Only the keywords in ``SHOWN`` keep
their values. An address that cannot be parsed with certainty, such as one with an unescaped ``@`` in its password,
is hidden as a whole.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "(hidden)"
# Not here: password, sslpassword, passfile, sslkey, and options, which may set anything.
SHOWN = frozenset(
    {"host", "hostaddr", "port", "dbname", "user", "service", "sslmode", "application_name", "connect_timeout"}
    | {"target_session_attrs"}
)
PASSWORDS = frozenset({"password", "sslpassword"})
_SQLITE = re.compile(r"(?P<file>sqlite(?:\+\w+)?:///[^?]*)(?:\?.*)?", re.DOTALL)
# A port is digits: in postgresql://user:word the word may be a password that lost its host.
_HOST = r"(?:\[[0-9A-Fa-f:.]*\]|[\w.-]*)(?::\d*)?"
# As in SQLAlchemy, the password ends at the last @ and may contain "/" and "?".
_URL = re.compile(
    r"(?P<scheme>[A-Za-z][\w+.-]*)://(?:(?P<user>[^:/?#@]*)(?P<password>:[^@]*)?@)?"
    rf"(?P<place>{_HOST}(?:,{_HOST})*(?:/[\w.-]*)?)(?:\?(?P<query>[^@]*))?",
    re.DOTALL,
)
# A value that is shown has no character that could begin a second value, such as = ; # or a space.
_PLAIN = re.compile(r"[\w.,@+-]*")
_HOSTS = re.compile(rf"[0-9A-Fa-f:.]*|/[\w./-]*|{_HOST}(?:,{_HOST})*")
_PAIR = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<value>'(?:\\.|[^'\\])*'|(?:\\.|[^\s'\\])*)(?=\s|$)")
_IN_TEXT = re.compile(r"\bpostgres(?:ql)?(?:\+\w+)?://\S+")


def without_secrets(address: str) -> str:
    """The address with every value that may be a secret written as ``(hidden)``."""
    if match := _SQLITE.fullmatch(address):
        return match["file"]
    if "://" in address:
        return _url(address)
    return _keywords(address)


def holds_password(address: str) -> bool:
    """Whether the address contains a password; True also for an address that cannot be parsed with certainty.

    The name of a file with a password, such as libpq's ``passfile``, does not count.
    """
    if _SQLITE.fullmatch(address):
        return False
    if "://" in address:
        match = _URL.fullmatch(address)
        pairs = [] if match is None else (match["query"] or "").split("&")
        return match is None or bool(match["password"]) or any(_names_password(pair) for pair in pairs)
    hidden = _keywords(address)
    return hidden == HIDDEN or any(_names_password(pair["name"]) for pair in _PAIR.finditer(address))


def _names_password(pair: str) -> bool:
    return unquote(pair.partition("=")[0]).strip() in PASSWORDS


def hide_addresses(text: str) -> str:
    """A text, such as a line of the log, with the PostgreSQL URLs in it shown without their secrets."""
    return _IN_TEXT.sub(lambda match: without_secrets(match[0]), text)


def _url(address: str) -> str:
    match = _URL.fullmatch(address)
    if match is None or not _PLAIN.fullmatch(unquote(match["user"] or "")):
        return f"{address.partition('://')[0]}://{HIDDEN}"
    user = "" if match["user"] is None else f"{match['user']}{f':{HIDDEN}' if match['password'] else ''}@"
    query = "&".join(map(_parameter, match["query"].split("&"))) if match["query"] else ""
    return f"{match['scheme']}://{user}{match['place']}{f'?{query}' if query else ''}"


def _parameter(pair: str) -> str:
    # libpq decodes %70assword as password, in names as in values.
    name, _, value = pair.partition("=")
    return pair if _may_be_shown(unquote(name), unquote(value)) else HIDDEN


def _may_be_shown(name: str, value: str) -> bool:
    form = _HOSTS if name in ("host", "hostaddr") else _PLAIN
    return name in SHOWN and form.fullmatch(value) is not None


def _keywords(text: str) -> str:
    pairs, position = [], 0
    while position < len(text.rstrip()):
        match = _PAIR.match(text, position)
        if match is None:
            return HIDDEN
        is_harmless = _may_be_shown(match["name"], match["value"])
        pairs.append(f"{match['name']}={match['value'] if is_harmless else HIDDEN}")
        position = match.end()
    return " ".join(pairs)
