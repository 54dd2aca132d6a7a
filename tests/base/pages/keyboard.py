"""The tab key in a real browser: it goes everywhere, and one sees where one is."""

from playwright.async_api import Page

_INSIDE = 12  # a field for a time has places of its own
# All that a key can reach, in the order of the page, as the browser has it.
REACHABLE = """[...document.querySelectorAll(
    'a[href], button, input:not([type=hidden]), select, textarea, summary, '
    + '[tabindex="0"]'
  )].filter((each) => !each.disabled && each.tabIndex >= 0
    && each.checkVisibility({visibilityProperty: true}))
   .map((each, place) => { each.dataset.place = place; return place })"""
HERE = """(() => {
  const it = document.activeElement;
  if (!it || it === document.body) return null;
  const style = getComputedStyle(it);
  const shape = it.getBoundingClientRect();
  return {
    place: Number(it.dataset.place ?? -1),
    what: it.outerHTML.slice(0, 120),
    seen: shape.width > 0 && shape.height > 0 && shape.bottom > 0
      && shape.top < innerHeight && style.outlineStyle !== "none"
      && parseFloat(style.outlineWidth) >= 1,
  };
})()"""


async def faults_by_keyboard(page: Page) -> list[str]:
    """Go through the page by the tab key alone; give what is amiss on the way."""
    faults = []
    expected = await page.evaluate(REACHABLE)
    await page.focus(".skip")
    walked: list[int] = []
    for _ in range(len(expected) + _INSIDE):
        here = await page.evaluate(HERE)
        if here is None or here["place"] in walked[:-1]:
            break
        if here["place"] not in walked:
            walked.append(here["place"])
            if not here["seen"]:
                faults.append(f"it cannot be seen that one is at: {here['what']}")
        await page.keyboard.press("Tab")
    if sorted(walked) != expected:
        missing = set(expected) ^ set(walked)
        faults.append(f"out of reach: {missing} of {len(expected)}")
    elif walked != expected:
        faults.append(f"in another order than it reads: {walked}")
    return faults
