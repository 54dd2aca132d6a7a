"""The figures that the operator's monitoring reads, as Prometheus writes them.

    _ENDING = figures.gauge("leyden_certificates_ending", "Those that end.", "standing")
    _ENDING.set(2, "expired")

A library for this takes longer to import than all that it does for us.
"""

from typing import Literal

TYPE = b"text/plain; version=0.0.4; charset=utf-8"

_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Figure:
    """One figure, or one for each set of labels."""

    def __init__(
        self,
        name: str,
        says: str,
        labels: tuple[str, ...],
        *,
        kind: Literal["counter", "gauge"],
    ) -> None:
        self._name = name
        self._says = says
        self._labels = labels
        self._kind = kind
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0}

    def set(self, value: float, *labels: str) -> None:
        """Say what it is now."""
        self._values[labels] = value

    def count(self, *labels: str) -> None:
        """Count one more."""
        self._values[labels] = self._values.get(labels, 0) + 1

    def value(self, *labels: str) -> float | None:
        """Give what it is, if anybody has said."""
        return self._values.get(labels)

    def text(self) -> str:
        """Write it as it is read."""
        lines = [
            f"# HELP {self._name} {self._says}",
            f"# TYPE {self._name} {self._kind}",
        ]
        for labels, value in list(self._values.items()):
            named = ",".join(
                f'{name}="{label.translate(_ESCAPED)}"'
                for name, label in zip(self._labels, labels, strict=True)
            )
            where = f"{{{named}}}" if named else ""
            lines.append(f"{self._name}{where} {float(value)}")
        return "".join(f"{line}\n" for line in lines)


_all: dict[str, Figure] = {}


def gauge(name: str, says: str, *labels: str) -> Figure:
    """Give the figure of this name, which goes up and down."""
    return _all.setdefault(name, Figure(name, says, labels, kind="gauge"))


def counter(name: str, says: str, *labels: str) -> Figure:
    """Give the figure of this name, which goes up alone."""
    return _all.setdefault(name, Figure(name, says, labels, kind="counter"))


def text() -> bytes:
    """Write all of them."""
    return "".join(figure.text() for figure in _all.values()).encode()
