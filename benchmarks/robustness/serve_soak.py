"""`python -m benchmarks.robustness.serve_soak`: good and bad requests to `kg serve` for minutes.

Cooks a small table, serves its model on loopback and keeps `--connections` clients busy. Reports
p50 and p99 of one row, of one client alone before and after, statuses, and resident memory every
half minute. Ends with status 1 if a request got a status that it must not get.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from benchmarks.robustness import cook_kills

ROW = b'[{"x": 0.5, "noise": 0.1, "word": "red"}]'
MANY = b"[" + b",".join([ROW[1:-1]] * 300) + b"]"
JSON = "application/json"
LONE = b'[{"x": 0.5, "noise": 0.1, "word": "\\ud800"}]'


def request(
    body: bytes, *, kind: str = JSON, host: str = "localhost", path: str = "/predict"
) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


#: Name -> request, statuses it may get, how often it is sent.
KINDS: dict[str, tuple[bytes, tuple[int, ...], int]] = {
    "one row": (request(ROW), (200,), 60),
    "300 rows": (request(MANY), (200,), 6),
    "csv": (request(b"x,noise,word\n1,2,red\n", kind="text/csv"), (200,), 6),
    "health": (b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n", (200,), 6),
    "lone surrogate": (request(LONE), (200, 400, 422), 4),
    "not JSON": (request(b'{"x": '), (400, 422), 4),
    "missing columns": (request(b'[{"a": 1}]'), (400, 422), 4),
    "NaN": (request(b'[{"x": NaN, "noise": 1e999, "word": null}]'), (200, 400, 422), 4),
    "nested": (request(b"[" * 5000 + b"]" * 5000), (400, 422), 1),
    "other host": (request(ROW, host="evil.example"), (400, 403, 421), 2),
    "no such path": (b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n", (404,), 2),
}
FULL = 503  # allowed, and counted: the queue may be full


class Soak:
    """Clients that send what KINDS says until the time is over."""

    def __init__(self, port: int, pid: int):
        self.port, self.pid = port, pid
        self.times: list[float] = []
        self.statuses: dict[str, Counter[int]] = {name: Counter() for name in KINDS}
        self.wrong: list[str] = []
        self.memory: list[int] = []

    async def client(self, end: float, seed: int, only: str | None = None) -> list[float]:
        rng, own = np.random.default_rng(seed), []
        weights = np.array([k[2] for k in KINDS.values()], dtype=float)
        reader = writer = None
        while time.monotonic() < end:
            name = only or str(rng.choice(list(KINDS), p=weights / weights.sum()))
            body, allowed, _ = KINDS[name]
            if writer is None:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            began = time.perf_counter()
            writer.write(body)
            status, close = await _response(reader)
            if name == "one row":
                own.append(time.perf_counter() - began)
            self.statuses[name][status] += 1
            if status not in (*allowed, FULL):
                self.wrong.append(f"{name}: {status}")
            if close:
                writer.close()
                writer = None
        if writer is not None:
            writer.close()
        self.times += own
        return own

    async def slow_reader(self, end: float) -> None:
        """Sends many requests and never reads, as a client that hangs."""
        while time.monotonic() < end:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1024)
            for _ in range(200):
                writer.write(KINDS["300 rows"][0])
                try:
                    await asyncio.wait_for(writer.drain(), 5)
                except (TimeoutError, ConnectionError):
                    break
            await asyncio.sleep(5)
            writer.transport.abort()

    async def watch(self, end: float) -> None:
        while time.monotonic() < end:
            self.memory.append(resident(self.pid))
            await asyncio.sleep(min(30.0, max(end - time.monotonic(), 0.1)))


async def _response(reader: asyncio.StreamReader | None) -> tuple[int, bool]:
    """Status of the next response, and whether the connection is to be closed."""
    assert reader is not None
    try:
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).decode("latin-1").lower()
    except asyncio.IncompleteReadError:
        return 0, True
    lengths = [line for line in head.split("\r\n") if line.startswith("content-length:")]
    if lengths:
        await reader.readexactly(int(lengths[0].split(":")[1]))
    return int(head.split(" ")[1]), not lengths or "connection: close" in head


def resident(pid: int) -> int:
    """Resident memory of a process in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1])


def processor_time(pid: int) -> float:
    """Seconds of processor time that a process has used; other work does not count."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def spread(times: list[float]) -> str:
    p50, p99 = 1e3 * np.quantile(times, [0.5, 0.99])
    return f"{len(times)} rows, p50 {p50:.2f} ms, p99 {p99:.2f} ms"


async def attack(soak: Soak, seconds: float, connections: int) -> None:
    used = processor_time(soak.pid)
    alone = await soak.client(time.monotonic() + 5, 0, "one row")
    used = (processor_time(soak.pid) - used) / len(alone)
    print(f"one client alone, before: {spread(alone)}, processor {1e3 * used:.2f} ms", flush=True)
    end = time.monotonic() + seconds
    clients = [soak.client(end, seed) for seed in range(1, connections + 1)]
    await asyncio.gather(soak.watch(end), soak.slow_reader(end), *clients)
    print(f"{connections} clients: {spread(soak.times[len(alone) :])}")
    crowd = await asyncio.gather(
        *(soak.client(time.monotonic() + 5, seed, "one row") for seed in range(200))
    )
    print(f"200 clients: {spread([t for own in crowd for t in own])}")
    alone = await soak.client(time.monotonic() + 5, 0, "one row")
    print(f"one client alone, after: {spread(alone)}")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--connections", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cook_kills.write_table(folder / "table.csv", 300)
        cook_kills.finish(cook_kills.start(folder / "table.csv", folder / "out"))
        command = [sys.executable, "-m", "kilogram", "serve", str(folder / "out" / "model.skops")]
        server = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        port = int(server.stdout.readline().split("http://127.0.0.1:")[1].split()[0])
        soak = Soak(port, server.pid)
        try:
            asyncio.run(attack(soak, options.seconds, options.connections))
            print("resident MiB:", [round(kib / 1024) for kib in soak.memory])
            print(json.dumps({name: dict(found) for name, found in soak.statuses.items()}))
            print("wrong:", Counter(soak.wrong) or "none")
        finally:
            server.terminate()
            server.wait()
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
