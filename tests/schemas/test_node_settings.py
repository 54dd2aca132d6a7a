"""The one table of node settings: what each line has to say for those who read it."""

import pytest

from leyden.nodes.rules.node_settings import NodeSettings
from leyden.schemas.node_settings import IN_FORMS, TABLE, SettingsAnswer
from leyden.schemas.settings import Group, Setting, SettingKind
from leyden.values import fields

EVERY = pytest.mark.parametrize("setting", TABLE.values(), ids=lambda each: each.name)


@EVERY
def test_people_are_told_what_a_setting_is(setting: Setting) -> None:
    assert setting.label
    assert setting.help.endswith(".")


@EVERY
def test_what_came_after_the_contract_has_a_default(setting: Setting) -> None:
    assert setting.is_required is (setting.default is None)
    assert setting.is_required or setting.suggested is None


@EVERY
def test_what_a_setting_needs_is_a_switch(setting: Setting) -> None:
    assert not setting.needs or TABLE[setting.needs].kind is SettingKind.SWITCH


@EVERY
def test_a_secret_is_typed_into_a_file_and_not_into_a_command(setting: Setting) -> None:
    assert bool(setting.option) is setting.is_secret


def test_forms_show_every_setting_once_group_by_group() -> None:
    assert sorted(each.name for each in IN_FORMS) == sorted(TABLE)
    shown = [each.group for each in IN_FORMS if each.group is not None]
    assert list(dict.fromkeys(shown)) == list(Group)
    assert shown == sorted(shown, key=list(Group).index)


def test_what_is_kept_and_what_is_shown_are_the_same_settings() -> None:
    assert [each.name for each in fields(NodeSettings)] == list(TABLE)
    shown = [each.name for each in fields(SettingsAnswer)]
    assert shown == [*TABLE, "sphinx", "webhook_secret"]
