from tests.app.cli.conftest import harbour, typed  # noqa: F401  fixtures
