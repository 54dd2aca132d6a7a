"""What a spreadsheet does with a text: some it takes for a formula, and runs."""

_FORMULAS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_CONTROLS = ("\t", "\r", "\n")


def harmless(text: str) -> str:
    """Give a text that no spreadsheet takes for a formula."""
    if text.startswith(_CONTROLS) or text.lstrip().startswith(_FORMULAS):
        return f"'{text}"
    return text
