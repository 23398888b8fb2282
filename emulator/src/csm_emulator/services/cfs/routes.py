"""All endpoints of CFS, and the construction of its parts."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.connexion import not_found, wrong_method
from csm_emulator.services.cfs import health
from csm_emulator.services.cfs.batcher.batcher import Batcher
from csm_emulator.services.cfs.batcher.results import BatchResults
from csm_emulator.services.cfs.components.actions import ComponentActions
from csm_emulator.services.cfs.components.api_v2 import ComponentsV2
from csm_emulator.services.cfs.components.api_v3 import ComponentsV3
from csm_emulator.services.cfs.components.hardware_sync import HardwareSync
from csm_emulator.services.cfs.components.table import Components
from csm_emulator.services.cfs.configurations.actions import ConfigurationActions
from csm_emulator.services.cfs.configurations.api import ConfigurationsApi
from csm_emulator.services.cfs.configurations.branches import Branches
from csm_emulator.services.cfs.configurations.table import Configurations
from csm_emulator.services.cfs.errors import with_error_handling
from csm_emulator.services.cfs.jobs.session_runs import SessionRuns
from csm_emulator.services.cfs.options.api import OptionsApi
from csm_emulator.services.cfs.options.table import Options
from csm_emulator.services.cfs.records import CfsRecords
from csm_emulator.services.cfs.sessions.actions import SessionActions
from csm_emulator.services.cfs.sessions.api import SessionsApi
from csm_emulator.services.cfs.sessions.cleanup import Cleanup
from csm_emulator.services.cfs.sessions.table import Sessions
from csm_emulator.services.cfs.sources.api import SourcesApi
from csm_emulator.services.cfs.sources.table import Sources
from csm_emulator.services.cfs.sources.vcs import Vcs
from csm_emulator.services.cfs.tenants import Tenants
from csm_emulator.transport.routes import EmulatedService, Handler, Route

BODY_LIMIT = 8 << 20
"""Largest request body in bytes: enough for every component of a machine with 10,000 nodes."""


def create_service(context: Context) -> EmulatedService:
    options, vcs = Options(context.tables), Vcs(context)
    configurations = Configurations(context.tables)
    components = Components(context, options, configurations)
    sessions = Sessions(context.tables)
    sources = Sources(context.tables)
    session_runs = SessionRuns(
        context, CfsRecords(context.clock, options, sessions, configurations, components, sources)
    )
    sync = HardwareSync(context, options, components)
    component_actions = ComponentActions(context.clock, components, sync)
    session_actions = SessionActions(context.clock, options, sessions, configurations, session_runs)
    configuration_actions = ConfigurationActions(
        context.clock, configurations, components, sources, Branches(vcs, sources)
    )
    Cleanup(context, options, session_actions)
    batcher = Batcher(context, options, components, sessions, BatchResults(options, components, component_actions))
    routes = [
        *_service_routes(),
        *_options(OptionsApi(options)),
        *_components(
            ComponentsV2(options, components, component_actions), ComponentsV3(options, components, component_actions)
        ),
        *_configurations(ConfigurationsApi(options, configurations, configuration_actions, Tenants(context.mesh))),
        *_sessions(SessionsApi(options, session_actions)),
        *_sources(SourcesApi(context, options, sources, configurations)),
    ]
    return EmulatedService(
        "cfs",
        [("/apis/cfs", "")],
        routes,
        not_found=not_found,
        wrong_method=wrong_method,
        body_limit=BODY_LIMIT,
        restarted=batcher.restarted,
    )


def _route(method: str, path: str, handler: Handler) -> Route:
    return Route(method, path, with_error_handling(handler))


def _service_routes() -> list[Route]:
    return [
        _route("GET", "/", health.version),
        _route("GET", "/versions", health.version),
        _route("GET", "/v2", health.version),
        _route("GET", "/v3", health.version),
        _route("GET", "/healthz", health.health),
    ]


def _options(api: OptionsApi) -> list[Route]:
    return [
        _route("GET", "/v2/options", api.get_v2),
        _route("PATCH", "/v2/options", api.patch_v2),
        _route("GET", "/v3/options", api.get_v3),
        _route("PATCH", "/v3/options", api.patch_v3),
    ]


def _components(old: ComponentsV2, new: ComponentsV3) -> list[Route]:
    routes = []
    for version, api in (("/v2", old), ("/v3", new)):
        collection, item = f"{version}/components", f"{version}/components/{{component_id}}"
        routes += [
            _route("GET", collection, api.get_all),
            _route("PUT", collection, api.put_all),
            _route("PATCH", collection, api.patch_all),
            _route("GET", item, api.get),
            _route("PUT", item, api.put),
            _route("PATCH", item, api.patch),
            _route("DELETE", item, new.delete),
        ]
    return routes


def _configurations(api: ConfigurationsApi) -> list[Route]:
    return [
        _route("GET", "/v2/configurations", api.get_all_v2),
        _route("GET", "/v2/configurations/{configuration_id}", api.get_v2),
        _route("PUT", "/v2/configurations/{configuration_id}", api.put_v2),
        _route("PATCH", "/v2/configurations/{configuration_id}", api.patch_v2),
        _route("DELETE", "/v2/configurations/{configuration_id}", api.delete_v2),
        _route("GET", "/v3/configurations", api.get_all_v3),
        _route("GET", "/v3/configurations/{configuration_id}", api.get_v3),
        _route("PUT", "/v3/configurations/{configuration_id}", api.put_v3),
        _route("PATCH", "/v3/configurations/{configuration_id}", api.patch_v3),
        _route("DELETE", "/v3/configurations/{configuration_id}", api.delete_v3),
    ]


def _sessions(api: SessionsApi) -> list[Route]:
    return [
        _route("GET", "/v2/sessions", api.get_all_v2),
        _route("POST", "/v2/sessions", api.create_v2),
        _route("DELETE", "/v2/sessions", api.delete_all_v2),
        _route("GET", "/v2/sessions/{session_name}", api.get_v2),
        _route("PATCH", "/v2/sessions/{session_name}", api.patch_v2),
        _route("DELETE", "/v2/sessions/{session_name}", api.delete),
        _route("GET", "/v3/sessions", api.get_all_v3),
        _route("POST", "/v3/sessions", api.create_v3),
        _route("DELETE", "/v3/sessions", api.delete_all_v3),
        _route("GET", "/v3/sessions/{session_name}", api.get_v3),
        _route("PATCH", "/v3/sessions/{session_name}", api.patch_v3),
        _route("DELETE", "/v3/sessions/{session_name}", api.delete),
    ]


def _sources(api: SourcesApi) -> list[Route]:
    return [
        _route("GET", "/v3/sources", api.get_all),
        _route("POST", "/v3/sources", api.post),
        _route("GET", "/v3/sources/{source_id}", api.get),
        _route("PATCH", "/v3/sources/{source_id}", api.patch),
        _route("POST", "/v3/sources/{source_id}", api.restore),
        _route("DELETE", "/v3/sources/{source_id}", api.delete),
    ]
