from tests.base.api.conftest import platform, settings  # noqa: F401  fixtures
