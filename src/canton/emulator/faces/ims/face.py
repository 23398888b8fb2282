"""All of IMS, on its paths: v2 also without a prefix, as the real one has it."""

from __future__ import annotations

from canton.emulator.faces.ims.artifacts import Artifacts, Bucket
from canton.emulator.faces.ims.deleted_images import DeletedImages
from canton.emulator.faces.ims.deleted_recipes import DeletedRecipes
from canton.emulator.faces.ims.images import Images
from canton.emulator.faces.ims.jobs import Jobs
from canton.emulator.faces.ims.public_keys import PublicKeys
from canton.emulator.faces.ims.recipes import Recipes
from canton.emulator.faces.ims.remote_nodes import RemoteNodes
from canton.emulator.faces.ims.replies import no_method, no_page, written
from canton.emulator.faces.ims.runs import Runs
from canton.emulator.faces.ims.seed import seed_images, seed_recipes
from canton.emulator.faces.ims.tables import Tables
from canton.emulator.furniture.keys import s3_keys
from canton.emulator.wire.call import Call, Reply
from canton.emulator.wire.connexion import answering
from canton.emulator.wire.routes import Face, Route
from canton.emulator.world import World

_VERSION = "3.25.0"


def open_face(world: World) -> Face:
    topology = world.machine.topology
    seeds = seed_images(topology, world.dice), seed_recipes(topology, world.dice)
    tables = Tables(world.shelves, world.clock, world.dice, *seeds)
    bucket = Bucket(world.mesh, s3_keys(world.dice))
    artifacts = Artifacts(bucket)
    nodes = RemoteNodes(tables, world.machine)
    jobs = Jobs(tables, artifacts, nodes, Runs(world, bucket), world.clock)
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
    return Face(
        "ims",
        [("/apis/ims", "")],
        [route.through(answering) for route in routes],
        not_found=no_page,
        wrong_method=no_method,
        restarted=tables.restarted,
    )


def _well(_: Call) -> Reply:
    return written({}, 200)
