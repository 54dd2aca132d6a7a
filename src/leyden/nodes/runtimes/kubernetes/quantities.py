"""Parse Kubernetes quantities, such as 250m of CPU or 94208Ki of memory."""

import re
from typing import Final

_QUANTITY: Final = re.compile(
    r"(?P<number>\d+\.?\d*|\.\d+)(?:[eE](?P<exponent>[+-]?\d+)|(?P<suffix>[A-Za-z]+))?",
    re.ASCII,
)
_SUFFIXES: Final = {
    **{name: 10.0**power for name, power in {"n": -9, "u": -6, "m": -3}.items()},
    **{name: 10.0 ** (3 * power) for power, name in enumerate("kMGTPE", start=1)},
    **{f"{name}i": 1024.0**power for power, name in enumerate("KMGTPE", start=1)},
}


def parse(text: str) -> float | None:
    """Return the value of a quantity; None if it is invalid or negative."""
    if (found := _QUANTITY.fullmatch(text)) is None:
        return None
    if exponent := found["exponent"]:
        return float(f"{found['number']}e{exponent}")
    if (suffix := found["suffix"]) is None:
        return float(found["number"])
    factor = _SUFFIXES.get(suffix)
    return None if factor is None else float(found["number"]) * factor
