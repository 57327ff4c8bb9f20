"""Access control of the page: this machine only, with the printed link, from the page itself."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOOPBACK = "127.0.0.1"
_LARGEST_BODY = 2**20
_SAFE = ("GET", "HEAD")
_HEADERS = {
    # plotly writes style elements; nothing else may be inline, and nothing comes from elsewhere.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Keys:
    """The secrets of one run of the program: links that work once, and the cookie they are exchanged for."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.cookie_name = f"coterie-{port}"  # browsers do not keep the cookies of two ports apart
        self.cookie = secrets.token_urlsafe(32)
        self._tokens: set[str] = set()

    def link(self) -> str:
        """Make a link that opens the page once."""
        token = secrets.token_urlsafe(32)
        self._tokens.add(token)
        return f"http://{LOOPBACK}:{self.port}/?token={token}"

    def spend(self, token: str) -> bool:
        """Return whether a token is valid, and invalidate it."""
        valid = next((unused for unused in self._tokens if _same(unused, token)), None)
        self._tokens.discard(valid or "")
        return valid is not None

    def knows(self, request: Request) -> bool:
        """Return whether a request has the cookie."""
        return _same(request.cookies.get(self.cookie_name, ""), self.cookie)

    @property
    def hosts(self) -> set[str]:
        """The names by which a browser may call this machine."""
        return {f"{name}:{self.port}" for name in (LOOPBACK, "localhost")}


def _same(a: str, b: str) -> bool:
    return secrets.compare_digest(a.encode("utf-8", "replace"), b.encode("utf-8", "replace"))


class Guard:
    """Middleware that admits a request only with the right Host, Origin and cookie, and adds security headers."""

    def __init__(self, app: Any, keys: Keys) -> None:
        self._app, self._keys = app, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or pass on one request."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return

        async def guarded(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
            await send(message)

        answer = self._refused(Request(scope))
        await (self._app if answer is None else answer)(scope, receive, guarded)

    def _refused(self, request: Request) -> Response | None:
        """Return the response to a refused request; None for one that may pass."""
        headers = request.headers
        if headers.get("host", "") not in self._keys.hosts:
            return PlainTextResponse("This page answers only to its own address on this machine.", 400)
        if not self._from_the_page(request):
            return PlainTextResponse("This request came from another page.", 403)
        if request.url.path == "/" and "token" in request.query_params:
            return self._exchange(request)
        if not self._keys.knows(request):
            return PlainTextResponse(
                "Open the link that coterie explore printed. A link works once; press Enter there for a new one.",
                403,
            )
        length = headers.get("content-length", "0" if request.method in _SAFE else "")
        if "transfer-encoding" in headers or not _is_small(length):
            return PlainTextResponse("The request is too large, or does not say how large it is.", 413)
        return None

    def _from_the_page(self, request: Request) -> bool:
        origin, site = request.headers.get("origin"), request.headers.get("sec-fetch-site")
        own = {f"http://{host}" for host in self._keys.hosts}
        if origin is None:
            return request.method in _SAFE and site in (None, "none", "same-origin")
        return origin in own

    def _exchange(self, request: Request) -> Response:
        """Exchange the token of a link for the cookie; the address loses it, so that no history keeps it."""
        if not (self._keys.knows(request) or self._keys.spend(request.query_params["token"])):
            return PlainTextResponse(
                "This link was used before, or is of an earlier start; press Enter where coterie explore runs for "
                "a new one.",
                403,
            )
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._keys.cookie_name, self._keys.cookie, httponly=True, samesite="strict", path="/"
        )
        return answer


def _is_small(length: str) -> bool:
    return length.isascii() and length.isdigit() and int(length[:12]) <= _LARGEST_BODY and len(length) <= 12
