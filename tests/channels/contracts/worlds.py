"""Parameters of fixtures that yield a fake, and then the real thing."""

import pytest

FAKE_AND_LND = (
    "fake",
    pytest.param("lnd", marks=[pytest.mark.real, pytest.mark.timeout(300)]),
)
