from leyden.nodes.pages import setting_descriptions


def test_a_form_for_a_new_node_begins_with_words_for_all_settings() -> None:
    """A setting without a default is an empty field, and no word of Python's."""
    suggested = setting_descriptions.suggested(listen=True)
    assert suggested["listen"] == setting_descriptions.YES
    assert not setting_descriptions.suggested(listen=False)["listen"]
    shown = {
        listen: {
            each.name
            for part in setting_descriptions.parts(listen=listen)
            for each in part.fields
        }
        for listen in (True, False)
    }
    assert shown[True] - shown[False] == {"listen"}
    assert set(suggested) >= {field.name for field in setting_descriptions.EVERY}
    assert not {name for name, value in suggested.items() if value == "None"}
    assert suggested["alias"] == ""
