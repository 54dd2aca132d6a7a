"""Explanations of failed downloads and builds, with the next step."""

from pathlib import Path

from leyden.errors import SetupError

_FULL = ("no space left on device", "disk quota exceeded")
_CHANGED = ("checksum mismatch", "security error", "do not match the hashes")
_UNREACHABLE = (
    "dial tcp",
    "no such host",
    "connection refused",
    "connection reset",
    "i/o timeout",
    "network is unreachable",
    "tls handshake timeout",
    "proxyconnect",
    "temporary failure in name resolution",
    "failed to fetch",
    "could not find a version",
    "dns error",
    "error sending request",
)


def explain(log: Path, *, doing: str) -> SetupError:
    """Convert a failed command's output to an error with the next step."""
    output = log.read_text(errors="replace")
    text = output.lower()
    if any(words in text for words in _FULL):
        return SetupError(
            f"cannot {doing}: the disk is full; building takes about 4 GB, most of it "
            "in Go's own cache (`go clean -cache` empties that). Make room, then run "
            "this again: what is built already stays"
        )
    if any(words in text for words in _CHANGED):
        return SetupError(
            f"cannot {doing}: what was downloaded is not what was pinned ({log}); "
            "something on the way changes files. Do not go on over this network"
        )
    if any(words in text for words in _UNREACHABLE):
        return SetupError(
            f"cannot {doing}: the network does not respond ({log}); check it, and "
            "HTTPS_PROXY or GOPROXY, then run this again: what is built already stays"
        )
    lines = [line for line in output.splitlines() if line.strip()]
    last = lines[-1].strip() if lines else "the command failed without a word"
    return SetupError(f"cannot {doing}: {last} (all of it: {log})")
