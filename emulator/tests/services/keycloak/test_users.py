"""The users of the realm, by seed and topology."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from csm_emulator.machine.parts import Owner
from csm_emulator.machine.topology import catalog as topologies
from csm_emulator.services.keycloak.realm.users import User, users
from csm_emulator.site import Site, StartOptions
from csm_emulator.state.file import StateFile


def _users(folder: Path, seed: int, *owners: Owner) -> dict[str, User]:
    state_file = StateFile(folder / f"{seed}-{len(owners)}.state")
    try:
        topology = replace(topologies.load("empty"), owners=owners)
        return {user.username: user for user in users(Site(StartOptions(topology, seed), state_file).context)}
    finally:
        state_file.close()


def test_an_empty_machine_has_people_too(tmp_path: Path) -> None:
    users = _users(tmp_path, 1)
    assert list(users) == ["admin", "user", "slingshot-admin"]
    assert users["admin"].roles == ("admin", "pa_admin")
    assert users["user"].roles == ("user",)


def test_owners_bring_their_people_and_an_administrator(tmp_path: Path) -> None:
    users = _users(tmp_path, 1, Owner("psi", "", (), ("Alice", "carol")), Owner("cscs", "", (), ("carol",)))
    assert users["alice"].roles == ("admin", "psi")
    assert users["carol"].roles == ("admin", "psi", "cscs")
    assert users["carol"].groups == ("psi", "cscs")
    assert users["psi-admin"].roles == ("tenant-admin",)
    assert users["cscs-admin"].groups == ("vcluster-cscs-tenant-admin",)


def test_a_group_called_admin_gives_no_rights_in_csm(tmp_path: Path) -> None:
    users = _users(tmp_path, 1, Owner("slingshot", "", (), ()), Owner("pa_admin", "", (), ("eve",)))
    assert set(users["slingshot-admin"].roles) == {"slingshot-admin", "tenant-admin"}
    assert users["pa_admin-admin"].roles == ("tenant-admin",)


def test_passwords_are_short_typeable_and_the_same_for_the_same_seed(tmp_path: Path) -> None:
    first, second_run, other_seed = _users(tmp_path, 1), _users(tmp_path, 1), _users(tmp_path, 2)
    assert first == second_run
    assert all(re.fullmatch("[a-z]{4}-[a-z]{4}", user.password) for user in first.values())
    passwords = [user.password for user in (*first.values(), *other_seed.values())]
    assert len(set(passwords)) == len(passwords)
