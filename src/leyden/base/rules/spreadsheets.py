"""Protection against texts that spreadsheets run as formulas."""

_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_CONTROLS = ("\t", "\r", "\n")


def escape_formula(text: str) -> str:
    """Return the text in a form that no spreadsheet runs as a formula."""
    if text.startswith(_CONTROLS) or text.lstrip().startswith(_FORMULAS):
        return f"'{text}"
    return text
