"""Markdown becomes HTML that is ours alone."""

import pytest

from leyden.manual.markdown import code, render


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "a <img src=x onerror=alert(1)> b",
        "[x](javascript:alert(1))",
        "![x](https://elsewhere.example/x.png)",
        "```html\n<script>alert(1)</script>\n```",
        '`"><script>`',
        '[x](https://a.example/"onmouseover="alert(1))',
    ],
)
def test_no_html_of_the_text_is_kept(text: str) -> None:
    for html in (render(text), code(text.replace("\n", " "))):
        for wrong in ("<script", "<img", 'href="javascript:', '"onmouseover'):
            assert wrong not in html


@pytest.mark.parametrize(
    ("page", "href", "leads"),
    [
        ("webhooks", "api.md", "/docs/api"),
        ("webhooks", "api.md#limits", "/docs/api#limits"),
        ("webhooks", "#answers-and-retries", "#answers-and-retries"),
        ("webhooks", "README.md", "/docs"),
        (
            "webhooks",
            "../operators/lsps1.md#use-lsps1-over-http",
            "/docs/lsps1#use-lsps1-over-http",
        ),
        ("lsps1", "../customers/api.md", "/docs/api"),
        ("webhooks", "https://example.org/x.md", "https://example.org/x.md"),
    ],
)
def test_links_lead_to_where_guides_are_served(
    page: str, href: str, leads: str
) -> None:
    html = render(f"[here]({href})", page=page, published=["lsps1"])
    assert html == f'<p><a href="{leads}">here</a></p>\n'


@pytest.mark.parametrize(
    "href",
    [
        "../../src/leyden/errors.py",
        "../decisions/0039-quotas.md",
        "../operators/quotas.md",
        "../operators/README.md",
        "../contributors/api.md",
    ],
)
def test_a_link_to_a_file_that_is_not_served_is_only_text(href: str) -> None:
    assert render(f"See [this]({href}).", page="api") == "<p>See this.</p>\n"


def test_headings_have_the_anchors_that_repositories_give_them() -> None:
    assert 'id="answers-and-retries"' in render("## Answers and retries")
    assert 'id="get-versions"' in render("### GET /versions")


def test_wide_tables_scroll_by_themselves() -> None:
    html = render("| a | b |\n|---|---|\n| 1 | 2 |\n")
    assert html.startswith('<div class="wide" tabindex="0"')
    assert html.endswith("</table></div>\n")
