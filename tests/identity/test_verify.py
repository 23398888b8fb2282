"""The verification of tokens: valid ones of every algorithm, and the known attacks."""

from __future__ import annotations

import hmac
import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from joserfc.jwk import ECKey
from joserfc.jws import JWSRegistry
from joserfc.util import int_to_base64

from canton.contracts.identity import ClaimBinding, Identity, TokenVerifier
from canton.domain.errors import CantonError, InvalidSetting, TokenExpired, TokenInvalid
from canton.drivers.oidc import jwks
from canton.drivers.oidc.issuer import IssuerSettings
from canton.drivers.oidc.mapping import preset
from canton.drivers.oidc.verify import MAX_CACHED, Clocks, OidcVerifier
from identity.fake_issuer import FAMILIES, Clock, Key, Publisher, assemble, make_key, part, public, publisher, sign

KEYS: dict[str, Key] = {algorithm: make_key(algorithm) for algorithm in FAMILIES}
STRANGER: dict[str, Key] = {algorithm: make_key(algorithm) for algorithm in FAMILIES}


@pytest.fixture(scope="module")
def site() -> Iterator[Publisher]:
    with publisher() as key_publisher:
        key_publisher.publish(*(public(key, f"kid-{name}", alg=name) for name, key in KEYS.items()))
        yield key_publisher


@dataclass
class World:
    site: Publisher
    settings: IssuerSettings
    clock: Clock
    door: TokenVerifier

    def claims(self, **changes: Any) -> dict[str, Any]:
        """The claims of a token of Keycloak; a change to None leaves the claim out."""
        now = int(self.clock.now)
        claims: dict[str, Any] = {
            "iss": self.site.url,
            "aud": ["canton", "account"],
            "exp": now + 300,
            "iat": now,
            "sub": "f7f5-1",
            "typ": "Bearer",
            "sid": "s-1",
            "preferred_username": "alice",
            "name": "Alice Psi",
            "groups": ["/psi", "/staff/hpc"],
            "realm_access": {"roles": ["psi", "offline_access", "default-roles-shasta"]},
        }
        return {name: value for name, value in (claims | changes).items() if value is not None}

    def token(self, algorithm: str = "ES256", header: dict[str, Any] | None = None, **changes: Any) -> str:
        token_header = {"kid": f"kid-{algorithm}", "typ": "JWT"} | (header or {})
        token_header = {name: value for name, value in token_header.items() if value is not None}
        return sign(KEYS[algorithm], algorithm, token_header, self.claims(**changes))

    def verify(self, token: str) -> Identity:
        return self.door.verify(token)


def world_at(site: Publisher, **changes: Any) -> World:
    clock = Clock()
    settings = IssuerSettings("cscs", site.url, ("canton",), preset("csm"), **changes)
    return World(site, settings, clock, OidcVerifier([settings], Clocks(wall=clock)))


@pytest.fixture
def world(site: Publisher) -> World:
    return world_at(site)


@pytest.mark.parametrize("algorithm", FAMILIES)
def test_a_good_token_says_who_it_is(world: World, algorithm: str) -> None:
    assert world.verify(world.token(algorithm)) == Identity(
        issuer="cscs",
        username="alice",
        subject="f7f5-1",
        name="Alice Psi",
        expires_at=(int(world.clock.now) + 300) * 1_000_000,
        groups=frozenset({"psi", "staff/hpc"}),
        claims_bindings=(ClaimBinding("tenant-operator", "psi"),),
        is_person=True,
    )


@pytest.mark.parametrize(
    "header",
    [
        {"typ": "at+jwt"},
        {"typ": "application/at+jwt"},
        {"typ": "AT+JWT"},
        {"typ": None},
        {"x5t": "abc"},
        {"nonce": "of a vendor"},
        {"long": "x" * 4096},
    ],
)
def test_headers_that_are_fine(world: World, header: dict[str, Any]) -> None:
    assert world.verify(world.token(header=header)).username == "alice"


@pytest.mark.parametrize(
    "changes",
    [
        {"aud": "canton"},
        {"iat": None},
        {"exp": time.time() + 80_000.5},
        {"nonce": "old Keycloaks put it into access tokens"},
        {"name": None},
        {"groups": None, "realm_access": None},
        {"groups": {"not": "a list"}, "realm_access": ["not", "an", "object"]},
    ],
)
def test_claims_that_are_fine(world: World, changes: dict[str, Any]) -> None:
    assert world.verify(world.token(**changes)).username == "alice"


def test_without_roles_there_are_no_bindings(world: World) -> None:
    assert world.verify(world.token(realm_access=None)).claims_bindings == ()


Attack = Callable[[World], str]


def with_header(**header: Any) -> Attack:
    return lambda world: world.token(header=header)


def with_claims(**changes: Any) -> Attack:
    return lambda world: world.token(**changes)


def later(claim: str, seconds: float, **changes: Any) -> Attack:
    return lambda world: world.token(**(changes | {claim: world.clock.now + seconds}))


def unsigned(algorithm: str, signature: str) -> Attack:
    def attack(world: World) -> str:
        return f"{part({'alg': algorithm, 'kid': 'kid-RS256', 'typ': 'JWT'})}.{part(world.claims())}.{signature}"

    return attack


def hmac_with_public_key(encoding: Literal["PEM", "DER"]) -> Attack:
    """A known attack: a verifier that trusts the header's algorithm uses the public key as a shared secret."""
    secret = KEYS["RS256"].as_bytes(encoding, private=False)
    header = {"alg": "HS256", "kid": "kid-RS256", "typ": "JWT"}
    return lambda world: assemble(header, world.claims(), lambda text: hmac.digest(secret, text, "sha256"))


def without_algorithm(world: World) -> str:
    header = {"kid": "kid-ES256", "typ": "JWT"}
    return assemble(header, world.claims(), lambda text: JWSRegistry.algorithms["ES256"].sign(text, KEYS["ES256"]))


def own_key(name: str) -> Attack:
    def attack(world: World) -> str:
        key = STRANGER["ES256"]
        own_keys = {"jwk": public(key, "kid-ES256"), "jku": f"{world.site.url}/jwks", "x5u": f"{world.site.url}/x"}
        header = {"kid": "kid-ES256", "typ": "JWT", name: own_keys.get(name, ["MIIB"])}
        return sign(key, "ES256", header, world.claims())

    return attack


def signed_by_stranger(algorithm: str) -> Attack:
    return lambda world: sign(STRANGER[algorithm], algorithm, {"kid": f"kid-{algorithm}"}, world.claims())


def key_of_another_algorithm(world: World) -> str:
    return sign(KEYS["RS256"], "RS256", {"kid": "kid-ES256", "typ": "JWT"}, world.claims())


def changed_payload(world: World) -> str:
    header, _, signature = world.token().split(".")
    return f"{header}.{part(world.claims(preferred_username='root'))}.{signature}"


def changed_header(world: World) -> str:
    _, payload, signature = world.token().split(".")
    return f"{part({'alg': 'ES256', 'kid': 'kid-ES256', 'typ': 'at+jwt'})}.{payload}.{signature}"


def raw_payload(text: bytes) -> Attack:
    return lambda _: sign(KEYS["ES256"], "ES256", {"kid": "kid-ES256"}, text)


def claim_twice(world: World) -> str:
    doubled = b'{"aud":"elsewhere",' + json.dumps(world.claims()).encode()[1:]
    return sign(KEYS["ES256"], "ES256", {"kid": "kid-ES256"}, doubled)


def instant(text: str) -> Attack:
    """A number in a JSON notation that Python's own writer does not use."""

    def attack(world: World) -> str:
        body = json.dumps(world.claims(exp="here")).replace('"here"', text).encode()
        return sign(KEYS["ES256"], "ES256", {"kid": "kid-ES256"}, body)

    return attack


def encoded_as(encoding: str) -> Attack:
    return lambda world: sign(KEYS["ES256"], "ES256", {"kid": "kid-ES256"}, json.dumps(world.claims()).encode(encoding))


ATTACKS: dict[str, Attack] = {
    "alg none": unsigned("none", ""),
    "alg none, any signature": unsigned("none", "AAAA"),
    "alg None": unsigned("None", "AAAA"),
    "alg NONE with an empty signature": unsigned("NONE", "e30"),
    "no signature at all": unsigned("RS256", ""),
    "signature of zeros": unsigned("ES256", part(bytes(64))),
    "alg is a list": with_header(alg=["ES256"]),
    "alg is missing": without_algorithm,
    "HS256 with the public key as PEM": hmac_with_public_key("PEM"),
    "HS256 with the public key as DER": hmac_with_public_key("DER"),
    "PS256": lambda w: sign(KEYS["RS256"], "PS256", {"kid": "kid-RS256"}, w.claims()),
    "RS512": lambda w: sign(KEYS["RS256"], "RS512", {"kid": "kid-RS256"}, w.claims()),
    "RSA key for ES256's kid": key_of_another_algorithm,
    "stranger RS256": signed_by_stranger("RS256"),
    "stranger ES256": signed_by_stranger("ES256"),
    "stranger EdDSA": signed_by_stranger("EdDSA"),
    "own key in jwk": own_key("jwk"),
    "own key by jku": own_key("jku"),
    "own key by x5u": own_key("x5u"),
    "own key in x5c": own_key("x5c"),
    "genuine, but with a jwk": with_header(jwk={"kty": "oct", "k": "AA"}),
    "genuine, but with a jku": with_header(jku="http://127.0.0.1/jwks"),
    "crit unknown": with_header(crit=["exp"], exp=1),
    "crit empty": with_header(crit=[]),
    "crit b64": with_header(crit=["b64"], b64=False),
    "b64": with_header(b64=True),
    "a JWT inside": with_header(cty="JWT"),
    "typ of a DPoP proof": with_header(typ="dpop+jwt"),
    "typ of a logout token": with_header(typ="logout+jwt"),
    "typ of a refresh token": with_header(typ="rt+jwt"),
    "typ is a number": with_header(typ=1),
    "kid missing": with_header(kid=None),
    "kid unknown": with_header(kid="kid-RS257"),
    "kid is a path": with_header(kid="../../dev/null"),
    "kid is a list": with_header(kid=["kid-ES256"]),
    "Keycloak's ID token": with_claims(typ="ID", aud="canton"),
    "Keycloak's refresh token": with_claims(typ="Refresh"),
    "Keycloak's offline token": with_claims(typ="Offline"),
    "Keycloak's logout token": with_claims(typ="Logout"),
    "typ in the payload is a list": with_claims(typ=["Bearer"]),
    "another issuer's ID token": with_claims(typ=None, nonce="n"),
    "bound to a certificate": with_claims(cnf={"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}),
    "bound to a key": with_claims(cnf={"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}),
    "an ID token with at_hash": with_claims(typ=None, at_hash="h"),
    "a logout token": with_claims(typ=None, events={}),
    "ID token that says at+jwt": lambda w: w.token(header={"typ": "at+jwt"}, typ="ID"),
    "issuer unknown": with_claims(iss="https://evil.example"),
    "issuer missing": with_claims(iss=None),
    "issuer is a list": lambda w: w.token(iss=[w.site.url]),
    "issuer with a slash more": lambda w: w.token(iss=w.site.url + "/"),
    "issuer in capitals": lambda w: w.token(iss=w.site.url.upper()),
    "issuer with a longer name": lambda w: w.token(iss=w.site.url + "0"),
    "audience missing": with_claims(aud=None),
    "audience of another": with_claims(aud="shasta"),
    "audience empty": with_claims(aud=[]),
    "audience longer": with_claims(aud=["canton2", "xcanton"]),
    "audience within a list": with_claims(aud=[["canton"]]),
    "audience in an object": with_claims(aud={"canton": True}),
    "never expires": with_claims(exp=None),
    "exp is text": with_claims(exp="99999999999"),
    "exp is true": with_claims(exp=True),
    "exp is NaN": instant("NaN"),
    "exp is Infinity": instant("Infinity"),
    "exp is 1e999": instant("1e999"),
    "exp is negative": with_claims(exp=-1),
    "exp has 5000 digits": instant("9" * 5000),
    "exp has 400 digits": instant("9" * 400),
    "exp is after the year 9999": instant("253402300800"),
    "iat has 400 digits": with_claims(iat=10**400),
    "nbf has 400 digits": with_claims(nbf=10**400),
    "lives for years": later("exp", 86_400 * 365),
    "lives for years, without iat": later("exp", 86_400 * 365, iat=None),
    "iat in the future": later("iat", 31),
    "nbf in the future": later("nbf", 31),
    "nbf is text": with_claims(nbf="soon"),
    "sub missing": with_claims(sub=None),
    "sub empty": with_claims(sub=""),
    "sub is a number": with_claims(sub=7),
    "username missing": with_claims(preferred_username=None),
    "username is a group": with_claims(preferred_username="group/pa_admin"),
    "username of another issuer": with_claims(preferred_username="psi:alice"),
    "username with a line break": with_claims(preferred_username="alice\n"),
    "username with a space": with_claims(preferred_username="alice bob"),
    "username in other letters": with_claims(preferred_username="аlice"),  # noqa: RUF001  # that is the attack
    "username too long": with_claims(preferred_username="a" * 129),
    "payload changed": changed_payload,
    "header changed": changed_header,
    "a claim twice": claim_twice,
    "payload is a list": raw_payload(b"[]"),
    "payload is not JSON": raw_payload(b"{"),
    "payload is not text": raw_payload(b"\xff\xfe\x00"),
    "payload in UTF-16": encoded_as("utf-16"),
    "payload in UTF-32": encoded_as("utf-32-le"),
    "payload with a byte order mark": encoded_as("utf-8-sig"),
    "payload is very deep": raw_payload(b"[" * 5000 + b"]" * 5000),
    "empty": lambda _: "",
    "dots": lambda _: "..",
    "two parts": lambda w: w.token().rpartition(".")[0],
    "four parts": lambda w: w.token() + ".AAAA",
    "encrypted": lambda _: f"{part({'alg': 'RSA-OAEP', 'enc': 'A256GCM'})}.AA.AA.AA.AA",
    "with padding": lambda w: w.token() + "==",
    "with a space": lambda w: " " + w.token(),
    "with a line break": lambda w: w.token() + "\n",
    "in other base64": lambda w: w.token().replace("-", "+").replace("_", "/") + "+",
    "not ASCII": lambda w: w.token() + "é",
    "half a character": lambda w: w.token() + "\ud800",
    "JSON": lambda _: '{"payload":"e30","signatures":[]}',
    "too long": lambda w: w.token(padding="x" * 16_384),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_refused(world: World, attack: str) -> None:
    token = ATTACKS[attack](world)
    with pytest.raises(TokenInvalid) as refusal:
        world.verify(token)
    assert says_nothing_of(token, refusal.value)


def says_nothing_of(token: str, error: CantonError) -> bool:
    """Whether the error, with its attributes and causes, contains no part of the token or of its claims."""
    cause: BaseException | None = error
    text = ""
    while cause is not None:
        text += f"{cause} {cause.__dict__}"
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    parts = [piece for piece in token.split(".") if len(piece) > 8]
    secrets = ["f7f5-1", "Alice", "psi", "evil.example", "pa_admin"]
    return not any(piece in text for piece in parts + secrets)


def test_a_token_that_ran_out(world: World) -> None:
    token = world.token()
    world.clock.now += 329
    assert world.verify(token).username == "alice"  # within the skew
    world.clock.now += 1
    with pytest.raises(TokenExpired) as refusal:
        world.verify(token)
    assert says_nothing_of(token, refusal.value)


def test_a_remembered_token_runs_out_as_well(site: Publisher) -> None:
    world = world_at(site, skew=0)
    token = world.token()
    world.verify(token)
    world.clock.now += 299
    world.verify(token)
    world.clock.now += 1
    with pytest.raises(TokenExpired):
        world.verify(token)


def test_an_expired_forgery_is_a_forgery(world: World) -> None:
    with pytest.raises(TokenInvalid):
        world.verify(sign(STRANGER["ES256"], "ES256", {"kid": "kid-ES256"}, world.claims(exp=1, iat=0)))


@pytest.mark.parametrize("claim", ["iat", "nbf"])
def test_clocks_may_differ_a_little(world: World, claim: str) -> None:
    changes: dict[str, Any] = {claim: world.clock.now + 29}
    assert world.verify(world.token(**changes)).username == "alice"


def test_every_change_of_a_character_is_refused(world: World) -> None:
    token = world.token("EdDSA")
    world.verify(token)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    rng = random.Random(7)
    for place in range(len(token)):
        letter = rng.choice(letters.replace(token[place], ""))
        with pytest.raises(TokenInvalid):
            world.verify(token[:place] + letter + token[place + 1 :])


def not_for_this(what: str) -> tuple[str, dict[str, Any], Callable[[bytes], bytes]]:
    """An algorithm, a published key, and a signer that has the private half of it."""
    key, curve, shared = KEYS["RS256"], ECKey.generate_key("P-384"), bytes(32)
    weak = rsa.generate_private_key(65537, 1024)  # noqa: S505  # that is the attack
    weak_public = {"kty": "RSA", "kid": "k", "n": int_to_base64(weak.public_key().public_numbers().n), "e": "AQAB"}

    def right(text: bytes) -> bytes:
        return JWSRegistry.algorithms["RS256"].sign(text, key)

    return {
        "for encryption": ("RS256", public(key, "k", use="enc"), right),
        "to encrypt": ("RS256", public(key, "k", key_ops=["encrypt"]), right),
        "of another algorithm": ("RS256", public(key, "k", alg="PS256"), right),
        "broken": ("RS256", public(key, "k", e=[]), right),
        "with a number as kid": ("RS256", public(key, "k") | {"kid": 7}, right),
        "weak": ("RS256", weak_public, lambda text: weak.sign(text, padding.PKCS1v15(), hashes.SHA256())),
        "shared": ("HS256", {"kty": "oct", "k": part(shared), "kid": "k"}, lambda t: hmac.digest(shared, t, "sha256")),
        "of another curve": ("ES384", public(curve, "k"), lambda t: JWSRegistry.algorithms["ES384"].sign(t, curve)),
    }[what]


@pytest.mark.parametrize(
    "what",
    [
        "for encryption",
        "to encrypt",
        "of another algorithm",
        "broken",
        "with a number as kid",
        "weak",
        "shared",
        "of another curve",
    ],
)
def test_keys_that_are_not_for_this(what: str) -> None:
    """A set may hold keys for encryption, weak ones and nonsense; none of them verifies, and none spoils the rest."""
    algorithm, published, signer = not_for_this(what)
    with publisher() as site:
        site.publish(published, public(KEYS["ES256"], "kid-ES256"))
        world = world_at(site)
        assert world.verify(world.token()).username == "alice"
        with pytest.raises(TokenInvalid):
            world.verify(assemble({"alg": algorithm, "kid": "k"}, world.claims(), signer))


def test_a_private_part_that_was_published_is_not_kept() -> None:
    read = jwks.read({"keys": [{**KEYS["ES256"].as_dict(private=True), "kid": "k"}]}, "here")
    assert not read["k", "ES256"].is_private


def test_the_key_of_one_issuer_does_not_sign_for_another(site: Publisher) -> None:
    """Two issuers with the same kid: each token is held against the keys of the issuer it names."""
    with publisher() as second_publisher:
        second_publisher.publish(public(STRANGER["ES256"], "kid-ES256"))
        ours = IssuerSettings("cscs", site.url, ("canton",), preset("csm"))
        theirs = IssuerSettings("psi", second_publisher.url, ("canton",))
        door = OidcVerifier([ours, theirs])
        world = world_at(site)
        assert door.verify(world.token()).issuer == "cscs"
        good = sign(STRANGER["ES256"], "ES256", {"kid": "kid-ES256"}, world.claims(iss=second_publisher.url))
        assert door.verify(good).issuer == "psi"
        assert door.verify(good).claims_bindings == ()
        with pytest.raises(TokenInvalid):
            door.verify(sign(STRANGER["ES256"], "ES256", {"kid": "kid-ES256"}, world.claims()))


def test_remembered_tokens_are_bounded_and_the_busy_ones_stay(world: World) -> None:
    """The test fills the cache directly instead of signing 4,096 tokens."""
    assert isinstance(world.door, OidcVerifier)
    busy, idle = (world.token("EdDSA", jti=name) for name in ("busy", "idle"))
    world.verify(busy)
    world.verify(idle)
    (busy_entry, idle_entry), some = tuple(world.door._cache), next(iter(world.door._cache.values()))
    for n in range(MAX_CACHED - 2):
        world.door._store(n.to_bytes(32, "big"), some)
    world.verify(busy)
    world.door._store(b"one more", some)
    assert len(world.door._cache) == MAX_CACHED
    assert busy_entry in world.door._cache
    assert idle_entry not in world.door._cache


def test_memory_holds_no_token(world: World) -> None:
    token = world.token()
    world.verify(token)
    assert token not in repr(vars(world.door))


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"name": "service"}, "service"),
        ({"name": "Ours"}, "cannot name"),
        ({"name": "a:b"}, "cannot name"),
        ({"url": "http://login.example.org"}, "https"),
        ({"url": "http://127.0.0.1.example.org"}, "https"),
        ({"url": "ftp://127.0.0.1"}, "https"),
        ({"url": "file:///etc/passwd"}, "host"),
        ({"url": "https://me:secret@login.example.org"}, "no user"),
        ({"url": "https://login.example.org/?realm=a"}, "query"),
        ({"url": "https://[login"}, "not an address"),
        ({"url": "login.example.org"}, "host"),
        ({"audience": ()}, "audience"),
        ({"audience": ("",)}, "audience"),
        ({"skew": 121}, "120"),
        ({"skew": -1}, "skew"),
        ({"outage": 0}, "outage"),
    ],
)
def test_settings_that_are_refused(changes: dict[str, Any], what: str) -> None:
    good = IssuerSettings("cscs", "https://login.example.org/realms/cscs", ("canton",))
    with pytest.raises(InvalidSetting, match=what) as refusal:
        replace(good, **changes)
    assert "secret" not in refusal.value.message


def test_one_issuer_once() -> None:
    good = IssuerSettings("cscs", "https://login.example.org", ("canton",))
    for twin in (good, replace(good, name="psi"), replace(good, url="https://login2.example.org")):
        with pytest.raises(InvalidSetting, match="twice"):
            OidcVerifier([good, twin])
