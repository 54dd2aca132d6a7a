"""Every setting of a node in forms: its effect, and its cost."""

from collections.abc import Mapping
from typing import Final

from leyden.base.pages.forms import Form
from leyden.schemas.node_settings import IN_FORMS
from leyden.schemas.settings import Group, Setting, SettingKind
from leyden.values import Struct, replace

YES = "yes"


class SettingGroup(Struct, frozen=True, kw_only=True):
    """A group of related settings."""

    title: str
    fields: tuple[Setting, ...]


EVERY: Final = tuple(each for each in IN_FORMS if each.group is not None)
FIRST, *MORE = (
    SettingGroup(
        title=group, fields=tuple(each for each in EVERY if each.group is group)
    )
    for group in Group
)


def parts(*, listen: bool) -> tuple[SettingGroup, ...]:
    """Return the parts of a form; `listen` only where there are peer addresses."""
    return tuple(
        replace(
            part,
            fields=tuple(each for each in part.fields if listen or not each.placed),
        )
        for part in (FIRST, *MORE)
    )


def suggested(*, listen: bool) -> dict[str, str]:
    """Return what a form for a new node begins with."""
    usual = {
        each.name: _first_not_none(each.suggested, each.default, "") for each in EVERY
    }
    return shown({**usual, "listen": listen})


def _first_not_none(*values: object) -> object:
    return next(value for value in values if value is not None)


def settings(form: Form) -> dict[str, object]:
    """Return all settings in a form for a new node."""
    return {field.name: _read(field, form) for field in EVERY}


def changed(form: Form) -> dict[str, object]:
    """Return the settings that differ from what the page showed.

    A change that somebody else made meanwhile in another field is kept.
    """
    given = {}
    for field in EVERY:
        value = _read(field, form)
        was = form.text(f"was-{field.name}").replace("\r\n", "\n")
        before: object = was == YES if field.kind is SettingKind.SWITCH else was
        if value != before:
            given[field.name] = value
    return given


def restarting(given: Mapping[str, object]) -> list[Setting]:
    """Return those of some changed settings that restart lnd."""
    return [each for each in EVERY if each.name in given and each.restarts]


def shown(values: Mapping[str, object]) -> dict[str, str]:
    """Return the values as form fields."""
    return {
        field.name: (YES if values[field.name] else "")
        if field.kind is SettingKind.SWITCH
        else str(values[field.name])
        for field in EVERY
    }


def addresses(text: str) -> list[str]:
    """Parse a whitelist: one address per line, or separated by commas."""
    return [word for word in text.replace(",", "\n").split() if word]


def _read(field: Setting, form: Form) -> object:
    """Return what was filled in, as the service takes it."""
    if field.kind is SettingKind.SWITCH:
        return form.ticked(field.name)
    if field.kind is SettingKind.CERTIFICATE:
        return form.text(field.name).replace("\r\n", "\n")
    return form.text(field.name)
