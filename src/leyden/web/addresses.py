"""Which addresses are the dashboard's; known before the dashboard is imported."""


def is_page(path: str) -> bool:
    """Tell whether the address is one of the dashboard's."""
    return path in {"/", "/app"} or path.startswith("/app/")
