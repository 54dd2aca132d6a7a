"""QR codes made in the browser, against another maker of them."""

import string

import pytest
import segno

from tests.nodes.pages.wallet.conftest import Modular

pytestmark = pytest.mark.asyncio(loop_scope="session")

# What each of the forty versions holds at level L. Full ones alone are compared: where
# there is room left, segno fills it up by one byte more than the standard asks for.
CAPACITIES = (
    *(17, 32, 53, 78, 106, 134, 154, 192, 230, 271, 321, 367, 425, 458),
    *(520, 586, 644, 718, 792, 858, 929, 1003, 1091, 1171, 1273, 1367, 1465),
    *(1528, 1628, 1732, 1840, 1952, 2068, 2188, 2303, 2431, 2563, 2699, 2809, 2953),
)
DRAWN = """async (modules, cases) => {
    const { matrix } = await modules("qr");
    const rows = (text, mask) =>
        matrix(new TextEncoder().encode(text), mask ?? undefined);
    return cases.map(([text, mask]) => rows(text, mask).map(
        (row) => row.map(Number).join("")));
}"""


def text_of(size: int) -> str:
    letters = string.ascii_lowercase
    return "".join(letters[at * at % 26] for at in range(size))


def by_another(text: str, mask: int) -> list[str]:
    code = segno.make(
        text, error="l", mode="byte", boost_error=False, micro=False, mask=mask
    )
    return ["".join(map(str, row)) for row in code.matrix]


async def test_all_versions_and_masks_are_drawn_as_another_maker_does(
    js: Modular,
) -> None:
    cases = [(text_of(size), at % 8) for at, size in enumerate(CAPACITIES)]
    drawn = await js.run(DRAWN, cases)
    for (text, mask), rows in zip(cases, drawn, strict=True):
        assert rows == by_another(text, mask), len(text)


async def test_what_is_left_over_is_filled_as_the_standard_says(js: Modular) -> None:
    filled = await js.run(
        """async (modules) => {
            const { codewords } = await modules("qr_codewords");
            return codewords(new TextEncoder().encode("a"), 1).slice(0, 19);
        }"""
    )
    assert bytes(filled) == bytes((0x40, 0x16, 0x10, *(0xEC, 0x11) * 8))


async def test_the_best_mask_is_chosen_and_too_much_is_refused(js: Modular) -> None:
    (best,), *masks = [await js.run(DRAWN, [("harbour light", None)])] + [
        (await js.run(DRAWN, [("harbour light", mask)]))[0] for mask in range(8)
    ]
    assert best in masks
    refused = """async (modules, text) => {
        const { matrix } = await modules("qr");
        try {
            matrix(new TextEncoder().encode(text));
        } catch (error) {
            return error.name;
        }
    }"""
    assert await js.run(refused, text_of(2954)) == "RangeError"
