"""Load tests with wrk: requests per second, and CPU time of the servers."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from bench.measure import cpu_seconds

_SCRIPT = """
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    '\\nRESULT {"requests": %d, "microseconds": %d, "p50_us": %d, "p99_us": %d, ',
    summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99)))
  io.write(string.format(
    '"errors": %d}\\n', e.connect + e.read + e.write + e.status + e.timeout))
end
"""

_POST = """
wrk.method = "POST"
wrk.body = [[%s]]
wrk.headers["Content-Type"] = "application/json"
"""

# Each connection rests between two requests, at random around what gives the rate.
_PACED = """
delay = function() return math.random(0, %d) end
"""


@dataclass(frozen=True, kw_only=True)
class Load:
    """The result of one turn."""

    per_second: float
    cpu_us: float
    """Processor time of the server for one request."""
    p50_us: float
    p99_us: float


def ask(
    url: str,
    server: int,
    *,
    headers: Mapping[str, str] | None = None,
    seconds: float = 2,
    connections: int = 32,
    body: str = "",
    per_second: float = 0,
) -> Load:
    """Keep connections busy for a while; a response other than 2xx is an error.

    With a body, which must be JSON, it is posted. With a rate, they are not kept busy,
    but ask about that often together.

    Caller and server have a processor each. On one they would take turns, request by
    request, and whoever works with more memory would pay for the other's cold caches.
    """
    wrk = shutil.which("wrk")
    if wrk is None:
        raise SystemExit("this benchmark needs wrk (on Debian: apt-get install wrk)")
    *_, servers, callers = sorted(os.sched_getaffinity(0))
    family = [server, *(c.pid for c in psutil.Process(server).children(recursive=True))]
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "count.lua"
        text = _SCRIPT + (_POST % body if body else "")
        if per_second:
            text += _PACED % round(2_000 * connections / per_second)
        script.write_text(text)
        for pid in family:
            os.sched_setaffinity(pid, {servers})
        pin = ["taskset", "-c", str(callers)]
        command = [
            *pin,
            wrk,
            "-t1",
            f"-c{connections}",
            f"-d{seconds}s",
            "-s",
            str(script),
        ]
        for name, value in (headers or {}).items():
            command += ["-H", f"{name}: {value}"]
        before = cpu_seconds(*family)
        done = subprocess.run(
            [*command, url], check=True, capture_output=True, text=True
        )
        used = cpu_seconds(*family) - before
    line = next(ln for ln in done.stdout.splitlines() if ln.startswith("RESULT "))
    result = json.loads(line.removeprefix("RESULT "))
    assert result["errors"] == 0, done.stdout
    return Load(
        per_second=result["requests"] / result["microseconds"] * 1e6,
        cpu_us=used / result["requests"] * 1e6,
        p50_us=result["p50_us"],
        p99_us=result["p99_us"],
    )
