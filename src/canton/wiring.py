"""The composition root: the only module that constructs objects from settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from canton import telemetry
from canton.contracts.power import Power
from canton.domain.errors import Invalid, InvalidSetting, SchemaMismatch
from canton.drivers.csm.gateway import Access, Gateway
from canton.drivers.csm.power import PcsPower
from canton.drivers.demo.power import FolderPower
from canton.operations.engine import worker as engine
from canton.operations.engine.step_kind import DeviceLimits, Kinds, register
from canton.operations.kinds.set_power import LIMITS, SetPower
from canton.operations.power.readings import PowerReading
from canton.operations.power.services import PowerOfSite
from canton.policy.permissions import PERMISSIONS
from canton.policy.roles import BUILTIN, Roles, custom
from canton.settings.file import check_secret_file
from canton.settings.model import Settings, SiteEntry
from canton.store import database
from canton.store.database import SERVING, UNBOUNDED, Database, Timeouts, system_clock
from canton.store.maintenance import migrate

if TYPE_CHECKING:  # a worker, and every command for the database, does without the HTTP stack
    from starlette.types import ASGIApp

    from canton.api.events.hub import Hub
    from canton.api.mutations.refusals import Refusals


# The demo's folder shows a change at once, and its driver changes one node after the other.
FOLDER_LIMITS = DeviceLimits(batch=8, timeout=60.0, settle=1.0, poll=0.2, tries=4, backoff=1.0)


def open_database(settings: Settings, *, create: bool = False, waits: Timeouts = UNBOUNDED) -> Database:
    """Open the database; with ``create``, a missing SQLite file is created, readable by its owner only."""
    opened = database.open_database(settings.database, waits=waits)
    if not opened.is_postgresql:
        _check_file(opened.engine.url.database, create=create)
    return opened


def open_current(settings: Settings, waits: Timeouts) -> Database:
    """Open the database; raises ``SchemaMismatch`` unless its schema is that of this version."""
    opened = open_database(settings, waits=waits)
    try:
        migrate.require_current(opened)
    except BaseException:
        opened.close()
        raise
    return opened


def start_logging(settings: Settings) -> None:
    telemetry.set_up(settings.log.format, settings.log.level)


def make_worker(settings: Settings, opened: Database) -> tuple[engine.Worker, PowerReading]:
    """The worker, and the task that reads the power of nodes. They share the power services of the sites."""
    configured = settings.worker
    limits = engine.Settings(
        lease=configured.lease,
        operations=configured.operations,
        parallel=configured.parallel,
        per_device=configured.per_device,
        sweep=configured.sweep,
        grace=configured.grace,
    )
    powers = {site.name: PowerOfSite(site.name, partial(_power, site)) for site in settings.sites.values()}
    for power in powers.values():
        power.prepare()
    worker = engine.Worker(opened, _make_kinds(settings, powers), limits)
    return worker, PowerReading(opened, powers, configured.power_interval)


def _make_kinds(settings: Settings, powers: Mapping[str, Power]) -> Kinds:
    folders_only = all(site.power == "demo" for site in settings.sites.values())
    services = {f"power@{site}": power for site, power in powers.items()}
    return register(SetPower(services, FOLDER_LIMITS if folders_only else LIMITS))


def make_roles(settings: Settings) -> Roles:
    """The built-in roles and the site's own."""
    try:
        own = [custom(it.name, it.scope, it.description, it.permissions) for it in settings.roles.values()]
    except InvalidSetting:
        raise
    except Invalid as error:
        raise InvalidSetting(f"a role in the configuration is wrong: {error.message}") from error
    return {**BUILTIN, **{role.name: role for role in own}}


def check_policy(settings: Settings) -> None:
    """Refuse settings that name a permission that does not exist or changes nothing."""
    if "approval.decide" in settings.policy.two_person:
        raise InvalidSetting(
            "policy.two_person names approval.decide: then no change could ever be approved; leave it out"
        )
    for name in settings.policy.two_person:
        if name not in PERMISSIONS or not PERMISSIONS[name].change:
            changes = [it.name for it in PERMISSIONS.values() if it.change]
            near = get_close_matches(name, changes, 1)
            hint = f'did you mean "{near[0]}"?' if near else f"choose from: {', '.join(changes)}"
            raise InvalidSetting(
                f'policy.two_person names "{name}", which is not a permission to change something; {hint}'
            )


def check_issuers(settings: Settings) -> None:
    """Refuse settings without an issuer: a server would start and refuse every request."""
    if not settings.issuers and not settings.embedded_issuer.enabled:
        raise InvalidSetting(
            "no issuer is configured, so no login is possible; add [issuers.NAME] with the url of your OIDC issuer "
            "to the configuration, or try Canton on this machine with: canton serve --dev"
        )


def check(settings: Settings) -> None:
    """Raise ``InvalidSetting`` for any mistake that shows without a database or a network."""
    from canton import wiring_issuers  # noqa: PLC0415

    check_policy(settings)
    make_roles(settings)
    for site in settings.sites.values():
        _power(site)
    url = settings.api.public_url or f"http://{settings.api.listen}"
    wiring_issuers.make_verifier(settings, url)
    if settings.embedded_issuer.enabled:
        wiring_issuers.embedded(settings, url)
    check_tls(settings)
    check_issuers(settings)


def check_tls(settings: Settings) -> None:
    """Check that both files can be read, and that others cannot read the key."""
    for path in (settings.api.tls_certificate, settings.api.tls_key):
        if path is not None:
            _readable(path, "api.tls_certificate and api.tls_key")
    if settings.api.tls_key is not None:
        check_secret_file(settings.api.tls_key, f"api.tls_key: {settings.api.tls_key}")


@dataclass(frozen=True, slots=True)
class Serving:
    """The app that ``canton serve`` runs, and the objects that it closes at its end."""

    app: ASGIApp
    hub: Hub
    database: Database
    refusals: Refusals


def make_app(settings: Settings, url: str) -> Serving:
    """The API as one ASGI app; ``url`` is where clients find it."""
    from canton import wiring_issuers  # noqa: PLC0415
    from canton.api import health  # noqa: PLC0415
    from canton.api.app import create_app  # noqa: PLC0415
    from canton.api.events.hub import Hub, ReaderLimits  # noqa: PLC0415
    from canton.api.metrics import Metrics  # noqa: PLC0415
    from canton.api.middleware import limits  # noqa: PLC0415
    from canton.api.middleware.rate_limits import RateLimits  # noqa: PLC0415
    from canton.api.services import Services  # noqa: PLC0415

    check_policy(settings)
    check_issuers(settings)
    check_tls(settings)
    opened = open_current(settings, SERVING)
    api = settings.api
    hub = Hub(opened, ReaderLimits(api.readers, api.readers_each, api.readers_tenant, api.readers_reserve))
    verifier = wiring_issuers.make_verifier(settings, url)
    issuer = wiring_issuers.make_issuer(settings, url)
    verifier.prefetch()
    services = Services(
        database=opened,
        verifier=verifier,
        roles=make_roles(settings),
        settings=settings,
        hub=hub,
        clock=system_clock,
        rate_limits=RateLimits(settings.api.rate, settings.api.rate_without_roles, settings.api.rate_without_token),
        issuer=issuer,
    )
    metrics = Metrics()
    app = create_app(services)
    app.include_router(health.router(health.Health(opened, hub, metrics)))
    return Serving(limits.guard(app, settings.api, metrics.observe), hub, opened, services.refusals)


def _power(site: SiteEntry) -> Power:
    if site.power == "csm":
        return _csm_power(site)
    if site.folder is None or not site.folder.is_dir():
        raise InvalidSetting(f"sites.{site.name}.folder names {site.folder}, which is not a folder; create it")
    return FolderPower(site.folder, site.latency)


def _csm_power(site: SiteEntry) -> Power:
    url, secret = str(site.url), Path(str(site.secret_file))
    _readable(secret, f"sites.{site.name}.secret_file")
    check_secret_file(secret, f"sites.{site.name}.secret_file: {secret}")
    return PcsPower(Gateway(Access(url, site.client_id, secret, site.ca)))


def _readable(path: Path, setting: str) -> None:
    try:
        path.open("rb").close()
    except OSError as error:
        raise InvalidSetting(f"{setting}: cannot read {path}: {error.strerror}") from error


def _check_file(name: str | None, *, create: bool) -> None:
    if name in (None, "", ":memory:"):
        raise InvalidSetting("an SQLite database needs a file; write sqlite:///path/to/canton.db")
    path = Path(str(name))
    if create:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                path.touch(mode=0o600)
        except OSError as error:
            problem = f"cannot create {error.filename} for the database {path}: {error.strerror}"
            raise InvalidSetting(f"{problem}; name a file in a folder that you may write to") from error
    elif not path.exists():
        raise SchemaMismatch(f"there is no database {path}; create it with: canton db upgrade", path=str(path))
