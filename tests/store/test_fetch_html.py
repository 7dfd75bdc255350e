"""HTML to Markdown: structure kept, broken pages survived, hostile ones bounded."""

from __future__ import annotations

import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capy_store.fetch.html import markdown
from capy_store.fetch.html.markdown import to_markdown
from capy_store.fetch.html.tokens import tokens

URL = "https://docs.test/guide/page.html"


def md(html: str) -> str:
    return to_markdown(html, URL).text


# Structure


def test_headings_paragraphs_and_formats() -> None:
    assert md("<h1>One</h1><p>A <b>bold</b> and <em>soft</em> <code>x = 1</code>.</p><h3>\n\tTwo\n</h3>text") == (
        "# One\n\nA **bold** and *soft* `x = 1`.\n\n### Two\n\ntext"
    )
    assert md("<p>2<sup>10</sup> H<sub>2</sub>O <del>old</del><br>next<p>co\u00adop&shy;er&nbsp;ate") == (
        "2^10 H2O ~~old~~\nnext\n\ncooper ate"
    )


def test_identifiers_are_not_escaped() -> None:
    assert md("<p>use snake_case_name and *args of a[0]") == "use snake_case_name and *args of a[0]"


def test_white_space_is_that_of_the_browser() -> None:
    assert md("<p> a\n\n  b <b> c </b>d<span> e</span></p>  <p>f</p>") == "a b **c** d e\n\nf"


def test_text_that_looks_like_markup_stays_text() -> None:
    assert md("<p># no heading<p>```<p>~~~~<p>&gt; no quote<p>a<br>---<br>===") == (
        "\\# no heading\n\n\\```\n\n\\~~~~\n\n\\> no quote\n\na\n\\---\n\\==="
    )


def test_an_unclosed_format_ends_with_each_block() -> None:
    assert md("<p><b>one<p>two</b> three") == "**one**\n\n**two** three"


def test_a_link_around_blocks_links_once() -> None:
    assert md('<a href="/x"><h2>Card</h2><p>About it</p></a>') == "## [Card](https://docs.test/x)\n\nAbout it"


def test_lists_nest_with_their_numbers() -> None:
    html = "<ol start=3><li>three<ul><li>sub<p>more</ul><li><p>four</ol><p>after"
    assert md(html) == "3. three\n   - sub\n\n     more\n4. four\n\nafter"


@pytest.mark.parametrize(
    "html",
    [
        "<ol><li>one</li><ul><li>sub</li></ul></ol>",
        "<ol><li>one<ul><li>sub</li></ul></li></ol>",
        "<ol><li>one<ul><li>sub</ol>",
    ],
)
def test_an_invalid_nested_list_stands_below_its_item(html: str) -> None:
    assert md(html) == "1. one\n   - sub"


def test_quotes_and_definition_lists() -> None:
    assert md("<blockquote><p>a<p>b<ul><li>c</ul></blockquote><dl><dt>term<dd>what<dt>next<dd>that</dl>") == (
        "> a\n\n> b\n\n> - c\n\nterm\n\nwhat\n\nnext\n\nthat"
    )


# Preformatted text


def test_a_fence_is_longer_than_any_in_the_text() -> None:
    assert md("<pre>a\n```\n# not a heading\nb</pre>") == "````\na\n```\n# not a heading\nb\n````"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ('<pre><code class="hljs language-python">x</code></pre>', "python"),
        ('<pre class="lang-c++">x</pre>', "c++"),
        ('<pre class="brush: js notranslate">x</pre>', "js"),
        ('<div class="highlight highlight-source-rust"><pre>x</pre></div>', "rust"),
        ('<div class="highlight-python3 notranslate"><div class="highlight"><pre>x</pre></div></div>', "python3"),
        ('<div class="highlight-default"><pre>x</pre></div>', ""),
        ("<pre>x</pre>", ""),
    ],
)
def test_the_language_of_code_is_kept(html: str, language: str) -> None:
    assert md(html) == f"```{language}\nx\n```"
    assert md(html + "<pre>y</pre>").endswith("```\ny\n```")


def test_code_keeps_its_lines_and_loses_its_colours() -> None:
    html = "<pre>\n<span>def</span> f():\n    <b>return</b> <a href=/x>1</a> &lt; 2\n\n</pre>"
    assert md(html) == "```\ndef f():\n    return 1 < 2\n```"
    assert md("<pre><div>one</div><div>two</div><br>three</pre>") == "```\none\ntwo\n\nthree\n```"


def test_code_spans_hold_backticks() -> None:
    assert md("<p><code>a`b</code> <code><a href=/x>Vec</a>&lt;<b>T</b>&gt;</code>") == "`` a`b `` `Vec<T>`"


# Links and images


@pytest.mark.parametrize(
    ("href", "link"),
    [
        ("other.html#part", "https://docs.test/guide/other.html#part"),
        ("/root", "https://docs.test/root"),
        ("//cdn.test/x", "https://cdn.test/x"),
        ("?q=a b", "https://docs.test/guide/page.html?q=a%20b"),
        ("x_(y)", "https://docs.test/guide/x_%28y%29"),
        ("mailto:a@docs.test", "mailto:a@docs.test"),
        ("http://[bad", ""),
        ("#part", ""),
        ("page.html#part", ""),
        ("", ""),
        ("javascript:alert(1)", ""),
        (" java\nscript:alert(1)", ""),
        ("JaVaScRiPt:x", ""),
        ("vbscript:x", ""),
        ("data:text/html,x", ""),
        ("file:///etc/passwd", ""),
    ],
)
def test_links_are_absolute_and_lead_to_other_pages_only(href: str, link: str) -> None:
    assert md(f'<p><a href="{href}">text</a>') == (f"[text]({link})" if link else "text")


def test_base_changes_relative_links() -> None:
    assert md('<base href="/other/"><base href="/wrong/"><a href="x">t</a>') == "[t](https://docs.test/other/x)"
    assert md('<base href="javascript:x"><a href="x">t</a>') == "[t](https://docs.test/guide/x)"


def test_images_are_their_description() -> None:
    assert md(
        '<p><img alt=" A\n chart" src="c.png"> <img src=pixel.gif> <img alt=dot src="data:image/png;base64,AAAA">'
    ) == ("![A chart](https://docs.test/guide/c.png) dot")


def test_a_heading_has_no_link_to_itself() -> None:
    assert md('<h2>Use<a class="headerlink" href="#use">¶</a></h2>') == "## Use"


# Tables


def test_a_table_becomes_a_grid_and_a_bar_in_a_cell_is_escaped() -> None:
    assert md("<table><tr><th>Name<th>Is<tr><td>x|y<td><code>a|b</code><br>c</table>") == (
        "| Name | Is |\n| --- | --- |\n| x\\|y | `a\\|b` c |"
    )
    assert md("<table><caption>Cap</caption><tbody><tr><td>a</td><td>b</td></tr></tbody></table>") == (
        "Cap\n\n|  |  |\n| --- | --- |\n| a | b |"
    )


@pytest.mark.parametrize("span", ["1.5", "auto", "-2", "100000000", "0", "", "٣", "999999999999999999999"])
def test_odd_spans_keep_the_number_of_columns(span: str) -> None:
    html = f'<table><tr><th colspan="{span}">wide<tr><td>a<td>b<tr><td rowspan="{span}">c<td>d</table>'
    assert [line.count("|") - 1 for line in md(html).splitlines()] == [2, 2, 2, 2]


def test_cells_of_several_columns_and_rows_keep_the_others_in_place() -> None:
    html = "<table><tr><th rowspan=2>a<th colspan=2>b<tr><td>c<td>d<tr><td>e<td>f<td>g</table>"
    assert md(html) == "| a | b |  |\n| --- | --- | --- |\n|  | c | d |\n| e | f | g |"


def test_a_table_in_a_cell_keeps_both_texts_and_its_columns() -> None:
    html = "<table><tr><td>outer<td><table><tr><th>h1<th>h2<tr><td>x<td>y</table>tail<tr><td>last</table>after"
    assert md(html) == "outer\n\n| h1 | h2 |\n| --- | --- |\n| x | y |\n\ntail\n\nlast\n\nafter"


def test_a_table_that_arranges_the_page_is_read_as_the_page() -> None:
    html = "<table><tr><td><ul><li>menu</ul><td><h1>Title</h1><pre>code\n  here</pre></table>"
    assert md(html) == "- menu\n\n# Title\n\n```\ncode\n  here\n```"
    assert md("<table><tr><td>one<tr><td>two</table>") == "one\n\ntwo"


def test_rows_and_cells_outside_of_a_table_keep_their_text() -> None:
    assert md("<tr><td>a</td><td>b</td></tr></table>c<td>d") == "a\n\nb\n\nc\n\nd"


def test_a_stray_end_tag_in_a_cell_closes_nothing_outside() -> None:
    html = "<div><table><tr><td>a</div></ul></table></table></b>b<td>c</table></div>d"
    assert "".join(re.findall(r"\w", md(html))) == "abcd"


# The parts of a page


def test_scripts_styles_and_templates_are_not_text() -> None:
    html = (
        "<script>if (a < b) document.write('<p>script</p>')</script><style>p { x: url('</p>') }</style>"
        "<template><p>template</template><noscript>noscript</noscript><svg><title>icon</title><text>drawn</text></svg>"
        "<select><option>choice</select><iframe><p>frame</iframe><p>shown"
    )
    assert md(html) == "shown"


def test_an_icon_does_not_break_its_line() -> None:
    assert md("<p>before <svg><path/></svg> after <noscript>x</noscript>end") == "before after end"


def test_navigation_is_left_out_and_the_main_part_preferred() -> None:
    html = (
        "<header>Banner</header><nav><ul><li>Menu</ul></nav><div role=navigation>Bar</div><div>Cookies?</div>"
        "<main><header><h1>Guide</h1></header><nav>On this page</nav><p>The text of the guide.</p>"
        "<aside>A note.</aside></main><aside>Ads</aside><footer>Imprint</footer>"
    )
    assert md(html) == "# Guide\n\nThe text of the guide.\n\nA note."


def test_a_small_main_part_does_not_hide_the_rest() -> None:
    assert md("<p>A long text that stands outside of the main part.</p><main>Short</main>") == (
        "A long text that stands outside of the main part.\n\nShort"
    )


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<nav><p>only navigation</nav>", "only navigation"),
        ("<noscript>only without scripts</noscript>", "only without scripts"),
        ("<header><p>banner</header><noscript>hidden</noscript>", "banner"),
        ("<script>only script</script>", ""),
        ("<!-- only a comment -->", ""),
        ("", ""),
    ],
)
def test_the_only_text_is_never_lost(html: str, text: str) -> None:
    assert md(html) == text


def test_the_title_is_the_pages_own_or_its_first_heading() -> None:
    assert (
        to_markdown("<svg><title>Icon</title></svg><title> A &amp;\n B </title><title>C</title>", URL).title == "A & B"
    )
    assert to_markdown('<h2>Sub</h2><h1>The <a href="/x"><b>Top</b></a></h1>', URL).title == "The Top"
    assert to_markdown("<p>x", URL).title == ""
    assert len(to_markdown(f"<title>{'x' * 5000}</title>", URL).title) == 300


def test_a_refresh_is_reported_absolute() -> None:
    assert to_markdown("<meta http-equiv=refresh content='5;URL=\"../x\"'>", URL).refresh == "https://docs.test/x"
    assert to_markdown("<meta name=description content='url=/x'>", URL).refresh == ""


def test_xhtml_closes_scripts_and_holds_cdata() -> None:
    html = '<html><script src="x"/><p>one</p><![CDATA[a <b> c]]></html>'
    assert to_markdown(html, URL, xml=True).text == "one\n\na <b> c"


# Broken and hostile pages

DEEP = 5000


@pytest.mark.parametrize(
    "html",
    [
        "<div>" * DEEP + "needle" + "</div>" * DEEP,
        "<blockquote>" * DEEP + "needle" + "</blockquote>" * DEEP,
        "<ul><li>" * DEEP + "needle" + "</li></ul>" * DEEP,
        "<b>" * DEEP + "needle",
        "<b><i>" * DEEP + "needle",
        "<table><tr><td>" * DEEP + "needle",
        "<a href=x>" * DEEP + "needle",
        "<span>" * DEEP + "<code>" * DEEP + "needle",
        "<select>" * DEEP + "</select>" * DEEP + "<p>needle",
    ],
    ids=["div", "blockquote", "ul", "b", "b i", "table", "a", "code", "select"],
)
def test_deep_nesting_is_flat_work(html: str) -> None:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(200)  # this very test runs some 60 deep
    try:
        text = md(html)
    finally:
        sys.setrecursionlimit(limit)
    assert "needle" in text and len(text) < 3 * len(html)


# Each is quadratic in some converter; at this size that would take minutes, and the suite has a timeout.
SIZE = 150_000


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<a", "</", "<!--", "<!", "<![CDATA[", "<?", "<title>", "<textarea>", "<script>", '<a x="',
     "<a x='\" ", "<a\n", "<a/", "<a =", " ", "&", "&#1", "<b>", "</b>", "<b></i>", "<li>", "<td>", "<table>",
     "<tr><td>x<td>", "<svg>", "[", "`", "-", "\n", "<br>", "<h1>[", "<pre>", "\u00a0", "\u200b"],
)  # fmt: skip
def test_repeats_take_linear_time_and_the_text_around_them_stays(piece: str) -> None:
    text = md("<p>needle " + piece * (SIZE // len(piece)) + " <p>end")
    assert text.startswith("needle")
    assert len(text) < 8 * SIZE


def test_attributes_without_end_take_linear_time() -> None:
    for piece in ("b ", "b=", '="', " ", "/", "b='c' "):
        assert md("<p>needle<div " + piece * (SIZE // len(piece)) + ">end").startswith("needle")


def test_a_page_of_too_many_tags_ends_as_text_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "_MOST_TAGS", 9)
    text = md("<main><h1>A</h1><ul><li>b<li>c</ul></main><h1>D</h1><p>e <b>f</b><nav>g</nav><script>no</script>")
    assert text.startswith("# A\n\n- b\n- c") and re.sub(r"\W", "", text) == "AbcDefg"


def test_an_entity_without_end_is_text() -> None:
    assert md("<p>&#" + "1" * 5000 + ";x").endswith("1;x")
    assert md("<p>&lt;b&gt; &amp;amp; &#8364; &nosuch; &#xD800; &#0;") == "<b> &amp; € &nosuch; \ufffd \ufffd"


def test_an_unclosed_tag_or_title_loses_no_text() -> None:
    assert md("<p>one<p title='x>two") == "one\n\ntwo"
    assert md("<p>one<p title=x two") == "one<p title=x two"
    assert md("<title>Lost<p>found") == "found"
    assert md("1 < 2 and a <3 b") == "1 < 2 and a <3 b"


TAGS = st.sampled_from(
    """div p b a h1 ul ol li table tr td th pre code blockquote nav main svg select script title br img dl dt
    """.split()  # noqa: SIM905
)
PIECES = st.one_of(
    st.builds("<{}>".format, TAGS),
    st.builds("</{}>".format, TAGS),
    st.builds("<{} class='language-x' href=y colspan=3 role=main>".format, TAGS),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["<!--", "-->", "<![CDATA[", "]]>", "&amp;", "<", ">", '"', "'", "\n", "```", "|"]),
)


@given(st.lists(PIECES, max_size=40))
def test_any_soup_gives_markdown(pieces: list[str]) -> None:
    html = "".join(pieces)
    converted = to_markdown(html, URL)
    assert converted.text == converted.text.strip("\n")
    assert "javascript:" not in converted.text or "javascript:" in html


@given(
    st.lists(
        st.builds("<{}>".format, TAGS.filter(lambda tag: tag not in ("script", "title", "svg", "select"))), max_size=30
    )
)
def test_no_order_of_start_tags_swallows_a_text(tags: list[str]) -> None:
    assert "needle" in md("".join(tags) + "needle")


@given(st.text(max_size=80))
def test_tokens_cover_text_without_markup(text: str) -> None:
    plain = text.replace("<", "").replace("&", "")
    assert "".join(source for _, source, _ in tokens(plain)) == plain
