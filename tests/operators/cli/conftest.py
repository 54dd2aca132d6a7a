from tests.app.cli.conftest import platform, typed  # noqa: F401  fixtures
