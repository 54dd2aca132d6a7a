"""The dashboard's paths, known without importing the dashboard."""


def is_page(path: str) -> bool:
    """Return whether the path is one of the dashboard's."""
    return path in {"/", "/app"} or path.startswith("/app/")
