"""All of IMS, on its paths: v2 also without a prefix, as the real one has it."""

from __future__ import annotations

from csm_emulator.context import Context
from csm_emulator.dialects.connexion import answering
from csm_emulator.seed_data.secrets import s3_keys
from csm_emulator.services.ims.images.api import Images
from csm_emulator.services.ims.images.artifacts import Artifacts, Bucket
from csm_emulator.services.ims.images.deleted import DeletedImages
from csm_emulator.services.ims.jobs.api import Jobs
from csm_emulator.services.ims.jobs.pods import Runs
from csm_emulator.services.ims.public_keys import PublicKeys
from csm_emulator.services.ims.recipes.api import Recipes
from csm_emulator.services.ims.recipes.deleted import DeletedRecipes
from csm_emulator.services.ims.remote_build_nodes import RemoteNodes
from csm_emulator.services.ims.responses import no_method, no_page, written
from csm_emulator.services.ims.seed_data import seed_images, seed_recipes
from csm_emulator.services.ims.tables import Tables
from csm_emulator.transport.call import Call, Reply
from csm_emulator.transport.routes import EmulatedService, Route

_VERSION = "3.25.0"


def create_service(context: Context) -> EmulatedService:
    topology = context.machine.topology
    seeds = seed_images(topology, context.random), seed_recipes(topology, context.random)
    tables = Tables(context.tables, context.clock, context.random, *seeds)
    bucket = Bucket(context.mesh, s3_keys(context.random))
    artifacts = Artifacts(bucket)
    nodes = RemoteNodes(tables, context.machine)
    jobs = Jobs(tables, artifacts, nodes, Runs(context, bucket), context.clock)
    images, recipes, keys = Images(tables, artifacts), Recipes(tables, artifacts), PublicKeys(tables)
    routes = [
        Route("GET", "/version", lambda _: written({"version": _VERSION}, 200)),
        Route("GET", "/healthz/ready", _well),
        Route("GET", "/healthz/live", _well),
        *nodes.routes(),
        *images.v3_routes(),
        *DeletedImages(tables, artifacts).routes(),
        *recipes.common_routes("/v3"),
        *DeletedRecipes(tables, artifacts).routes(),
        *keys.v3_routes(),
        *jobs.routes("/v3"),
    ]
    for prefix in ("", "/v2"):
        for room in (images, recipes, keys, jobs):
            routes += room.routes(prefix)
    return EmulatedService(
        "ims",
        [("/apis/ims", "")],
        [route.through(answering) for route in routes],
        not_found=no_page,
        wrong_method=no_method,
        restarted=tables.restarted,
    )


def _well(_: Call) -> Reply:
    return written({}, 200)
