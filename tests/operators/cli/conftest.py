from tests.app.cli.conftest import typed  # noqa: F401  fixtures
