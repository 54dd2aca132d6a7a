from leyden.web import explained


def test_a_form_for_a_new_node_begins_with_words_for_all_settings() -> None:
    """A setting without a default is an empty field, and no word of Python's."""
    suggested = explained.suggested(listen=True)
    assert suggested["listen"] == explained.YES
    assert not explained.suggested(listen=False)["listen"]
    shown = {
        listen: {
            each.name for part in explained.parts(listen=listen) for each in part.fields
        }
        for listen in (True, False)
    }
    assert shown[True] - shown[False] == {"listen"}
    assert set(suggested) >= {field.name for field in explained.EVERY}
    assert not {name for name, value in suggested.items() if value == "None"}
    assert suggested["alias"] == ""
