"""What stands before every page: the token, the host, the origin, the size of what is sent, and headers."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from unspool.errors import shown

__all__ = ["Guard", "TooLarge"]

SMALL = 1 << 20  # bytes of a form without a file
_LONGEST_NUMBER = 18
_METHODS = ("GET", "HEAD", "POST")
_OWN_SITE = ("same-origin", "none")
_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class TooLarge(Exception):  # noqa: N818  (it is what was sent)
    """More was sent than is taken."""


class Guard:
    """Lets through what carries the token, from this machine's own page; all else is refused with a sentence."""

    def __init__(self, app: ASGIApp, token: str, port: int, most_bytes: int) -> None:
        self._app = app
        self._prefix = f"/{token}"
        self._hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._most_bytes = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            code, sentence = refusal
            more = {"Connection": "close"} if code == 413 else {}
            await PlainTextResponse(f"{sentence}\n", code, {**_HEADERS, **more})(scope, receive, send)
            return
        most = self._most(scope)
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise TooLarge
            return message

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    own.setdefault(name, value)
            await send(message)

        await self._app({**scope, "root_path": self._prefix}, counted, marked)

    def _most(self, scope: Scope) -> int:
        return self._most_bytes + SMALL if scope["path"] == f"{self._prefix}/uploads" else SMALL

    def _refusal(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Why a request is refused, or None."""
        if scope["method"] not in _METHODS:
            return 405, f"refused: {shown(scope['method'])} is not used here"
        if headers.get("host") not in self._hosts:
            return 403, "refused: this page is only there under the address that unspool studio printed"
        before, _, rest = scope["path"].partition("/")
        first = f"{before}/{rest.partition('/')[0]}"
        if not secrets.compare_digest(first.encode("utf-8", "replace"), self._prefix.encode()):
            return (
                403,
                "refused: the token in the address is missing or old; open the address that unspool studio printed",
            )
        origin = headers.get("origin")
        if origin is not None and origin not in [f"http://{host}" for host in self._hosts]:
            return 403, "refused: the request comes from another page"
        if headers.get("sec-fetch-site", "none") not in _OWN_SITE:
            return 403, "refused: the request comes from another page; type or paste the address instead"
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > _LONGEST_NUMBER or int(length) > self._most(scope):
            return 413, "refused: more was sent than is taken; see --max-upload"
        return None
