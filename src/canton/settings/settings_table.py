"""Every setting: its key, kind, default and meaning. A key that is not in ``TABLE`` is refused.

The reference page of the settings is generated from it. A key such as ``sites.*.url`` belongs to a table whose name the
site chooses (``[sites.alps]``); such a setting can only be set in the file.
"""

from __future__ import annotations

from canton.settings.definition import REQUIRED, Setting, StateFile, variable
from canton.settings.kinds import (
    ADDRESS,
    FLAG,
    LIST,
    NETWORKS,
    PATH,
    TABLES,
    Address,
    Kind,
    choice,
    duration,
    number,
    size,
    text,
    url,
)

DAY = 86_400.0


def _api(name: str, kind: Kind, default: object, meaning: str) -> Setting:
    return Setting(f"api.{name}", kind, default, meaning)


def _issuer(name: str, kind: Kind, default: object, meaning: str) -> Setting:
    return Setting(f"issuers.*.{name}", kind, default, meaning)


TABLE = (
    Setting(
        "database",
        text("postgresql://canton@db.example.org/canton"),
        StateFile("canton.db", "sqlite:///"),
        "sqlite:///path or postgresql://user@host/name",
        secret=True,
    ),
    _api("listen", ADDRESS, Address("127.0.0.1", 8700), "where the API listens; port 0 takes any free one"),
    _api(
        "public_url",
        url("https://canton.example.org"),
        None,
        "server's address for clients; else where it listens",
    ),
    _api("tls_certificate", PATH, None, "certificate chain, PEM; without it the API speaks plain HTTP"),
    _api("tls_key", PATH, None, "private key of the certificate, PEM"),
    _api("body_limit", size(1024), 2**20, "largest body of a request"),
    _api("import_limit", size(1024), 16 * 2**20, "largest body of an import of nodes"),
    _api("header_limit", number(8, 1000), 64, "most headers of a request"),
    _api("timeout", duration(0.1, 3600), 30.0, "longest duration of a request; streams of events are exempt"),
    _api("rate", number(1, 1_000_000), 200, "requests a second from one principal, to this server"),
    _api("rate_without_roles", number(1, 1_000_000), 5, "the same for a principal that is bound to no role"),
    _api("rate_without_token", number(1, 1_000_000), 20, "the same for an address, for requests without a valid token"),
    _api("concurrency", number(1, 10_000), 128, "most requests at a time; further ones are answered with 503"),
    _api("readers", number(1, 100_000), 2000, "most streams of events at a time"),
    _api("readers_each", number(1, 100_000), 100, "most of these streams for one principal"),
    _api("readers_tenant", number(1, 100_000), 500, "most of these streams for one tenant's principals together"),
    _api("readers_reserve", number(0, 100_000), 200, "how many of these streams only the provider's principals get"),
    _api("drain", duration(0, 600), 20.0, "how long a stop waits for requests under way"),
    _api("proxies", NETWORKS, (), "proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted"),
    Setting("worker.lease", duration(1, 3600), 15.0, "a dead worker's operations are taken over after this time"),
    Setting("worker.operations", number(1, 10_000), 32, "operations that a worker drives at a time"),
    Setting("worker.parallel", number(1, 10_000), 16, "device calls at a time for one operation"),
    Setting("worker.per_device", number(1, 10_000), 4, "device calls at a time for one device, by one worker"),
    Setting("worker.sweep", duration(1, 3600), 60.0, "longest time between two looks for operations"),
    Setting("worker.grace", duration(0, 3600), 30.0, "how long a worker's stop waits for device calls under way"),
    Setting("worker.power_interval", duration(1, DAY), 30.0, "how often the power of a site's nodes is read"),
    Setting("log.format", choice("auto", "json", "console"), "auto", "auto: console on a terminal, else JSON"),
    Setting("log.level", choice("debug", "info", "warning", "error"), "info", "lowest level that is logged"),
    Setting("policy.two_person", LIST, (), "permissions whose use needs the approval of a second person"),
    Setting("policy.approval_ttl", duration(1, 30 * DAY), 3600.0, "how long a change waits for approval"),
    Setting("policy.token_ttl", duration(1, 365 * DAY), 3600.0, "default lifetime of a service account's token"),
    Setting("policy.token_ttl_limit", duration(1, 365 * DAY), 30 * DAY, "longest lifetime of such a token"),
    Setting("embedded_issuer.name", text("local"), "local", "first part of its users' names, as in local:alice"),
    Setting("embedded_issuer.enabled", FLAG, False, "an issuer for laptops and demos at /issuer"),
    Setting("embedded_issuer.state", PATH, StateFile("issuer.db"), "file with its keys and logins"),
    Setting("embedded_issuer.users", PATH, None, "TOML file of its users"),
    Setting("embedded_issuer.allow_remote", FLAG, False, "allow it when the API listens beyond this machine"),
    _issuer(
        "url",
        url("https://login.example.org/realms/hpc"),
        REQUIRED,
        "its address, exactly as tokens have it in iss",
    ),
    _issuer("audience", LIST, ("canton",), "audiences; a token must be for one of them"),
    _issuer("client_id", text("canton"), "canton", "client ID that `canton login` uses"),
    _issuer("preset", choice("csm", "keycloak-groups", "flat"), None, "a predefined mapping from claims to bindings"),
    _issuer("rules", TABLES, (), "own mapping from claims to bindings: tables of claim, match, role, tenant, except"),
    _issuer("username_claim", text("preferred_username"), "preferred_username", "the claim with the username"),
    _issuer("groups_claim", text("groups"), "groups", "the claim with the list of groups"),
    _issuer("person_claims", LIST, ("sid", "session_state"), "a token with none of these counts as a machine's"),
    _issuer("unmarked_tokens", FLAG, False, "accept access tokens with neither typ at+jwt nor typ Bearer"),
    _issuer("ca", PATH, None, "certificates to trust for the issuer, PEM; else the system's"),
    _issuer("skew", duration(0, 120), 30.0, "how far the issuer's clock may differ"),
    _issuer("longest_lifetime", duration(60, 30 * DAY), DAY, "a token that lives longer is refused"),
    _issuer("keys_for", duration(1, DAY), 300.0, "how long its keys are used before they are fetched again"),
    _issuer("outage", duration(1, 7 * DAY), 3600.0, "how much longer they are used while the issuer does not answer"),
    Setting("roles.*.scope", choice("provider", "tenant"), REQUIRED, "where the role can be bound"),
    Setting("roles.*.permissions", LIST, REQUIRED, "its permissions; `canton role list` shows all of them"),
    Setting("roles.*.description", text("starts and stops nodes"), "", "what it is for"),
    Setting("sites.*.power", choice("csm", "demo"), REQUIRED, "what switches power: CSM, or a folder of files"),
    Setting("sites.*.url", url("https://api.example.org"), None, "csm: the address of the API gateway"),
    Setting("sites.*.ca", PATH, None, "csm: the authorities to trust, in PEM; else those of the system"),
    Setting("sites.*.client_id", text("admin-client"), "admin-client", "csm: the client at its Keycloak"),
    Setting("sites.*.secret_file", PATH, None, "csm: a file with that client's secret"),
    Setting("sites.*.folder", PATH, None, "demo: the folder, with one file per node"),
    Setting("sites.*.latency", duration(0, 60), 0.0, "demo: how long a change of power takes, per node"),
)


def variables() -> dict[str, str]:
    """The environment variable of every setting that has one, by the setting's key."""
    return {setting.key: variable(setting.key) for setting in TABLE if "*" not in setting.key}
