from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from dcshap.exceptions import InputError
from dcshap.report import Block, KeyFigures, Note, Paragraph, Picture, Report, Section, Table, waterfall
from dcshap.report.style import themed_colours
from tests.report.checker import Page
from tests.report.conftest import Make

NASTY = '<script>alert("1")</script> & "quotes" \'too\' --> ]]>'


def test_a_page_of_all_blocks_is_well_formed_and_complete_in_itself(make: Make):
    explained = make([[0.1, -0.2]])
    hatched = make([[0.1, -0.2]], feature_names=("age", "DC Features"), bars={"DC Features": ("shop",)})
    inner = Section("Inside", [Picture(waterfall(hatched), "the same"), Note("Mind this."), KeyFigures({"n": 3})])
    sections = [
        Section("One", [Picture(waterfall(explained), "a waterfall", "Caption"), inner]),
        Section("Two", [Table(pd.DataFrame({"a": [1, 2]}), "A table"), Paragraph("Text.")]),
        Section("Three", []),
    ]
    page = Page(Report("Title", sections, lead="A lead.").html())
    assert page.problems == []
    assert page.headings == [1, 2, 2, 3, 2, 2]  # the second is that of the contents


def test_every_text_is_escaped_wherever_it_comes_from(make: Make):
    explained = make([[0.1]], feature_names=(NASTY,), data=pd.DataFrame({NASTY: [NASTY]}), output_names=(NASTY,))
    blocks: list[Block] = [
        Paragraph(NASTY),
        Note(NASTY),
        KeyFigures({NASTY: NASTY}),
        Table(pd.DataFrame({NASTY: [NASTY]}, index=[NASTY]), NASTY),
        Picture(waterfall(explained), NASTY, NASTY),
    ]
    text = Report(NASTY, [Section(NASTY, blocks)] * 3, lead=NASTY).html()
    page = Page(text)
    assert page.problems == []
    assert NASTY in "".join(page.text)
    assert "<script" not in text


def test_the_same_figure_twice_has_identifiers_of_its_own_each_time(make: Make):
    figure = waterfall(make([[0.1]]))
    page = Page(Report("Twice", [Section("S", [Picture(figure, "one"), Picture(figure, "two")])]).html())
    assert page.problems == []


def test_the_same_report_gives_the_same_page(make: Make):
    def page() -> str:
        shown = make([[0.1, 0.2]], feature_names=("a", "DC Features"), bars={"DC Features": ("shop",)})
        return Report("R", [Section("S", [Picture(waterfall(shown), "alt")])]).html()

    assert page() == page()


def test_pictures_of_this_package_change_their_colours_on_a_dark_page_and_others_do_not(make: Make):
    own = Report("R", [Section("S", [Picture(waterfall(make([[0.1, -0.2]])), "alt")])]).html()
    assert "var(--figure-ink, " in own
    foreign = Figure()
    foreign.add_subplot().plot([0, 1], color=themed_colours()["positive"])
    assert "var(--figure-" not in Report("R", [Section("S", [Picture(foreign, "alt")])]).html().split("</style>")[1]


def test_the_style_sheet_has_a_dark_colour_for_every_role():
    style = Report("R", []).html()
    for role in themed_colours():
        assert f"--figure-{role}:" in style
    assert "@media print" in style
    assert "prefers-color-scheme: dark" in style


def test_drawing_a_picture_leaves_the_figure_as_it_was(make: Make):
    figure = waterfall(make([[0.1]]))
    canvas, size = figure.canvas, tuple(figure.get_size_inches())
    Report("R", [Section("S", [Picture(figure, "alt")])]).html()
    assert figure.canvas is canvas
    assert tuple(figure.get_size_inches()) == size


def test_a_picture_needs_a_text_in_its_place():
    with pytest.raises(InputError, match="alt"):
        Picture(Figure(), "  ")


def test_tables_align_numbers_head_their_rows_and_show_what_is_missing():
    frame = pd.DataFrame({"name": ["a", None], "x": [0.5, np.nan], "share": ["10%", "+3.5%"], "ok": [True, False]})
    text = Report("R", [Section("S", [Table(frame, "T")])]).html()
    assert '<th scope="row">a</th><td class="number">0.500</td><td class="number">10%</td><td>yes</td>' in text
    assert '<th scope="row">–</th><td class="number">–</td><td class="number">+3.5%</td><td>no</td>' in text


def test_an_index_that_says_something_and_columns_of_two_levels_are_shown():
    frame = pd.DataFrame([[1, 2]], index=pd.Index(["north"], name="party"), columns=[("a", "b"), ("a", "c")])
    text = Report("R", [Section("S", [Table(frame, "T")])]).html()
    assert "party" in text
    assert '<th scope="row">north</th>' in text
    assert "a · c" in text


@pytest.mark.parametrize("frame", [pd.DataFrame(), pd.DataFrame({"a": []}), pd.DataFrame([[1, 2]], columns=["a", "a"])])
def test_tables_without_rows_or_with_equal_names_are_written(frame: pd.DataFrame):
    assert Page(Report("R", [Section("S", [Table(frame, "T")])]).html()).problems == []


def test_a_page_is_written_as_one_file_in_utf_8(tmp_path: Path):
    Report("Größe 年収", []).write(tmp_path / "page.html")
    assert "Größe 年収" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_contents_link_to_every_section_where_there_are_several():
    text = Report("R", [Section(name, []) for name in ("A", "B", "C")]).html()
    for at in (1, 2, 3):
        assert f'href="#section-{at}"' in text
    assert "<nav" not in Report("R", [Section("A", [])]).html()
