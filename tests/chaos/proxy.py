"""Proxies between the nodes' daemons and their servers: TLS on both sides, HTTP/1.1 in between, and a weather for each
node in which requests do not arrive, answers get lost, and so on."""

import asyncio
import random
import ssl
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .plan import Fault, Harm

_CHUNK = 65536
_HEAD = 256 * 1024  # bytes of a request's head at most; a spec is in its body
_STATUSES = (429, 500, 502, 503, 504)
_LATE = (0.05, 2.0)  # seconds
_REFUSED = b"HTTP/1.1 %d Chaos\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class _CutError(Exception):
    """This connection ends here."""


@dataclass
class Weather:
    """Over the way of one node to one server. `met` counts the requests that each harm has met."""

    chance: random.Random
    fault: Fault | None = None
    until: float = 0.0
    met: Counter[Harm] = field(default_factory=Counter)
    open: set[asyncio.StreamWriter] = field(default_factory=set)

    def now(self) -> Harm | None:
        """What is wrong now; counted by whoever it meets."""
        return self.fault.harm if self.fault is not None and time.monotonic() < self.until else None

    def drawn(self) -> Harm | None:
        """What meets this request."""
        harm = self.now()
        if harm is None or self.fault is None or self.chance.random() >= self.fault.share:
            return None
        self.met[harm] += 1
        return harm


class Proxy:
    """In a thread of its own, for one server. `nodes` are known by their addresses."""

    def __init__(
        self,
        host: str,
        upstream: tuple[str, int],
        name: str,
        pair: tuple[str, str],
        authority: str,
        nodes: dict[str, str],
    ) -> None:
        """`pair`: certificate and key of this side; `authority`: file of that of the server, which is `name`."""
        self._upstream, self._name = upstream, name
        self._outward = ssl.create_default_context(cafile=authority)
        self._inward = _server_side(pair)
        self.weathers = {node: Weather(random.Random(f"{name} {node}")) for node in nodes.values()}
        self._nodes = nodes
        # A task whose client has gone is held by nobody else, and would be collected while it waits for the server.
        self._served: set[asyncio.Task[Any]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"proxy {name}", daemon=True)
        self._thread.start()
        self._server = self._run(asyncio.start_server(self._serve, host, 0, ssl=self._inward, limit=_HEAD))
        self.port: int = self._server.sockets[0].getsockname()[1]

    def strike(self, node: str, fault: Fault) -> None:
        """From now on, as long as the fault lasts."""
        self._run(self._strike(self.weathers[node], fault))

    def clear(self) -> None:
        """Fine weather everywhere."""
        for weather in self.weathers.values():
            weather.until = 0.0

    def close(self) -> None:
        """With all that goes over it."""
        self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    async def _end(self) -> None:
        self._server.close()
        for weather in self.weathers.values():
            _cut(weather)
        # Again, since a connection that was accepted just before becomes a task when its handshake is done.
        while tasks := asyncio.all_tasks() - {asyncio.current_task()}:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    @staticmethod
    async def _strike(weather: Weather, fault: Fault) -> None:
        weather.fault, weather.until = fault, time.monotonic() + fault.seconds
        if fault.harm in (Harm.CUT, Harm.REFUSED):
            weather.met[fault.harm] += len(weather.open)
            _cut(weather)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        weather = self.weathers[self._nodes[writer.get_extra_info("peername")[0]]]
        weather.open.add(writer)
        task = asyncio.current_task()
        assert task is not None
        self._served.add(task)
        task.add_done_callback(self._served.discard)
        try:
            await self._converse(reader, writer, weather)
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, asyncio.CancelledError, _CutError):
            pass
        finally:
            weather.open.discard(writer)
            writer.transport.abort()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, weather: Weather) -> None:
        """Requests of one connection, one after the other: nobody here sends the next before the answer."""
        if weather.now() is Harm.REFUSED:
            weather.met[Harm.REFUSED] += 1
            raise _CutError
        above: _Above | None = None
        try:
            while True:
                request = await _request(reader)
                harm = weather.drawn()
                await self._before(harm, request, writer, weather)
                if above is None:
                    above = await self._above(writer)
                above.harm = harm if harm in (Harm.LOST, Harm.LATE) else None
                above.writer.write(request)
                await above.writer.drain()
        finally:
            if above is not None:
                above.close()

    async def _before(self, harm: Harm | None, request: bytes, writer: asyncio.StreamWriter, weather: Weather) -> None:
        if harm is Harm.SILENT:
            await asyncio.sleep(max(0.0, weather.until - time.monotonic()))
            raise _CutError
        if harm is Harm.ERRORS:
            writer.write(_REFUSED % weather.chance.choice(_STATUSES))
            await writer.drain()
            raise _CutError
        if harm is Harm.TWICE and b"watch=" not in request.split(b"\r\n", 1)[0]:
            first_reader, first = await self._connection()
            first.write(request)
            await first_reader.read(_CHUNK)
            first.transport.abort()

    async def _above(self, client: asyncio.StreamWriter) -> "_Above":
        reader, writer = await self._connection()
        above = _Above(writer)
        above.pump = asyncio.ensure_future(above.bring(reader, client))
        return above

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self._upstream, ssl=self._outward, server_hostname=self._name)


@dataclass
class _Above:
    """The connection to the server, and what becomes of the next answer that comes over it."""

    writer: asyncio.StreamWriter
    harm: Harm | None = None
    pump: "asyncio.Future[None] | None" = None

    async def bring(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        """What the server says, until it ends."""
        try:
            while data := await reader.read(_CHUNK):
                if self.harm is Harm.LOST:
                    break
                if self.harm is Harm.LATE:
                    await asyncio.sleep(random.uniform(*_LATE))
                    self.harm = None
                client.write(data)
                await client.drain()
        except OSError:
            pass
        client.transport.abort()

    def close(self) -> None:
        if self.pump is not None:
            self.pump.cancel()
        self.writer.transport.abort()


async def _request(reader: asyncio.StreamReader) -> bytes:
    """Head and body."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.lower().split(b":", 1) for line in head.split(b"\r\n")[1:] if b":" in line)
    return head + await reader.readexactly(int(fields.get(b"content-length", b"0")))


def _cut(weather: Weather) -> None:
    for writer in list(weather.open):
        writer.transport.abort()


def _server_side(pair: tuple[str, str]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pair.pem"
        file.write_text("".join(pair))
        context.load_cert_chain(file)
    return context
