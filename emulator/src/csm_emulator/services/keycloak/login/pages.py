"""The pages on which a user logs in for a device: three small forms, for a browser or for curl."""

from __future__ import annotations

from html import escape
from urllib.parse import quote

from csm_emulator.services.keycloak import wall_clock
from csm_emulator.services.keycloak.login.devices import Decision, Device, Devices
from csm_emulator.services.keycloak.realm.realm import PATH, Realm
from csm_emulator.services.keycloak.responses import (
    NO_STORE_REVALIDATE,
    OAuthError,
    error_reply,
    form_of,
    json_reply,
    page,
)
from csm_emulator.services.keycloak.tokens import scope_of
from csm_emulator.transport.call import Call, Reply

DEVICE = f"{PATH}/device"
AUTHENTICATE = f"{PATH}/login-actions/authenticate"
CONSENT = f"{PATH}/login-actions/consent"
_UNKNOWN = "Invalid code, please try again."
_EXPIRED = "The code has expired. Please go back to your device and try connecting again."


class Pages:
    def __init__(self, realm: Realm, devices: Devices) -> None:
        self._realm = realm
        self._devices = devices

    def begin(self, call: Call) -> Reply:
        """``auth/device``: the request of the device itself."""
        try:
            device = self._new_device(call)
        except OAuthError as refused:
            return error_reply(refused)
        verification_uri = self._realm.issuer(call).removesuffix(PATH) + DEVICE
        reply = {
            "device_code": device.code,
            "user_code": device.user_code,
            "verification_uri": verification_uri,
            "verification_uri_complete": f"{verification_uri}?user_code={device.user_code}",
            "expires_in": self._realm.settings["device_code_lifespan"],
            "interval": device.interval,
        }
        return json_reply(reply, headers=NO_STORE_REVALIDATE)

    def _new_device(self, call: Call) -> Device:
        form = form_of(call)
        client = self._realm.client_of(call, form)
        if client.secret:
            description = (
                "Client is not allowed to initiate OAuth 2.0 Device Authorization Grant."
                " The flow is disabled for the client."
            )
            raise OAuthError(400, "unauthorized_client", description)
        return self._devices.begin(client.id, scope_of(form.get("scope", "")))

    def verify(self, call: Call) -> Reply:
        """``device``: takes the user code of a device."""
        user_code = call.first("user_code") or form_of(call).get("device_user_code", "")
        if not user_code:
            return _code_form("")
        device = self._pending_device(user_code)
        return _login_form(device) if isinstance(device, Device) else _code_form(device)

    def _pending_device(self, user_code: str) -> Device | str:
        device = self._devices.by_user_code(user_code)
        if device is None:
            return _UNKNOWN
        return _EXPIRED if device.ends < wall_clock.now() else device

    def authenticate(self, call: Call) -> Reply:
        device, form = self._pending_device(call.first("user_code")), form_of(call)
        if not isinstance(device, Device):
            return _code_form(device)
        account = self._realm.log_in(form.get("username", ""), form.get("password", ""))
        if account is None:
            return _login_form(device, form.get("username", ""), "Invalid username or password.")
        self._devices.logged_in(device, account)
        return _consent_form(device)

    def consent(self, call: Call) -> Reply:
        form = form_of(call)
        device = self._devices.by_consent(form.get("code", ""))
        if device is None or not {"accept", "cancel"} & set(form):
            return _code_form(_UNKNOWN)
        if "accept" in form:
            device.decision = Decision.GRANTED
            return page(
                "Device Login Successful", "<p>You may close this browser window and go back to your device.</p>"
            )
        device.decision = Decision.DENIED
        return page("Device Login Failed", "<p>Consent denied for connecting the device.</p>")


def _code_form(message: str) -> Reply:
    body = (
        f"<p>{escape(message)}</p>\n"
        f'<form action="{DEVICE}" method="post">\n'
        '<label>Enter the code provided by your device <input name="device_user_code" autocomplete="off"></label>\n'
        '<button type="submit">Submit</button>\n</form>'
    )
    return page("Device Login", body, NO_STORE_REVALIDATE)


def _login_form(device: Device, username: str = "", message: str = "") -> Reply:
    body = (
        f"<p>{escape(message)}</p>\n"
        f'<form action="{AUTHENTICATE}?user_code={quote(device.user_code)}" method="post">\n'
        f'<label>Username <input name="username" value="{escape(username)}" autocomplete="username"></label>\n'
        '<label>Password <input name="password" type="password" autocomplete="current-password"></label>\n'
        '<button name="login" type="submit">Sign In</button>\n</form>'
    )
    return page("Sign in to your account", body, NO_STORE_REVALIDATE)


def _consent_form(device: Device) -> Reply:
    body = (
        "<p>Do you grant these access privileges? User profile, Email address, User roles</p>\n"
        f'<form action="{CONSENT}" method="post">\n'
        f'<input type="hidden" name="code" value="{device.consent}">\n'
        '<button name="accept" value="Yes" type="submit">Yes</button>\n'
        '<button name="cancel" value="No" type="submit">No</button>\n</form>'
    )
    return page(f"Grant Access to {escape(device.client)}", body, NO_STORE_REVALIDATE)
