"""CFS's paths, and how its parts come together."""

from __future__ import annotations

from canton.emulator.faces.cfs import service
from canton.emulator.faces.cfs.answers import served
from canton.emulator.faces.cfs.batch_results import BatchResults
from canton.emulator.faces.cfs.batcher import Batcher
from canton.emulator.faces.cfs.book import Book
from canton.emulator.faces.cfs.branches import Branches
from canton.emulator.faces.cfs.cleanup import Cleanup
from canton.emulator.faces.cfs.component_actions import ComponentActions
from canton.emulator.faces.cfs.component_table import Components
from canton.emulator.faces.cfs.components_v2 import ComponentsV2
from canton.emulator.faces.cfs.components_v3 import ComponentsV3
from canton.emulator.faces.cfs.configuration_actions import ConfigurationActions
from canton.emulator.faces.cfs.configuration_table import Configurations
from canton.emulator.faces.cfs.configurations import ConfigurationsApi
from canton.emulator.faces.cfs.hardware_sync import HardwareSync
from canton.emulator.faces.cfs.options import Options
from canton.emulator.faces.cfs.options_api import OptionsApi
from canton.emulator.faces.cfs.runs.runs import Runs
from canton.emulator.faces.cfs.session_actions import SessionActions
from canton.emulator.faces.cfs.session_table import Sessions
from canton.emulator.faces.cfs.sessions import SessionsApi
from canton.emulator.faces.cfs.source_table import Sources
from canton.emulator.faces.cfs.sources import SourcesApi
from canton.emulator.faces.cfs.tenants import Tenants
from canton.emulator.faces.cfs.vcs import Vcs
from canton.emulator.wire.connexion import not_found, wrong_method
from canton.emulator.wire.routes import Face, Handler, Route
from canton.emulator.world import World

BODY = 8 << 20
"""Room for every component of a machine of 10,000 nodes."""


def open_face(world: World) -> Face:
    options, vcs = Options(world.shelves), Vcs(world)
    configurations = Configurations(world.shelves)
    components = Components(world, options, configurations)
    sessions = Sessions(world.shelves)
    sources = Sources(world.shelves)
    runs = Runs(world, Book(world.clock, options, sessions, configurations, components, sources))
    sync = HardwareSync(world, options, components)
    to_components = ComponentActions(world.clock, components, sync)
    to_sessions = SessionActions(world.clock, options, sessions, configurations, runs)
    to_configurations = ConfigurationActions(world.clock, configurations, components, sources, Branches(vcs, sources))
    Cleanup(world, options, to_sessions)
    batcher = Batcher(world, options, components, sessions, BatchResults(options, components, to_components))
    routes = [
        *_about_itself(),
        *_options(OptionsApi(options)),
        *_components(
            ComponentsV2(options, components, to_components), ComponentsV3(options, components, to_components)
        ),
        *_configurations(ConfigurationsApi(options, configurations, to_configurations, Tenants(world.mesh))),
        *_sessions(SessionsApi(options, to_sessions)),
        *_sources(SourcesApi(world, options, sources, configurations)),
    ]
    return Face(
        "cfs",
        [("/apis/cfs", "")],
        routes,
        not_found=not_found,
        wrong_method=wrong_method,
        body_limit=BODY,
        restarted=batcher.restarted,
    )


def _route(method: str, path: str, handler: Handler) -> Route:
    return Route(method, path, served(handler))


def _about_itself() -> list[Route]:
    return [
        _route("GET", "/", service.version),
        _route("GET", "/versions", service.version),
        _route("GET", "/v2", service.version),
        _route("GET", "/v3", service.version),
        _route("GET", "/healthz", service.health),
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
        all_, one = f"{version}/components", f"{version}/components/{{component_id}}"
        routes += [
            _route("GET", all_, api.get_all),
            _route("PUT", all_, api.put_all),
            _route("PATCH", all_, api.patch_all),
            _route("GET", one, api.get),
            _route("PUT", one, api.put),
            _route("PATCH", one, api.patch),
            _route("DELETE", one, new.delete),
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
