from __future__ import annotations

import io
import re
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from pypdf import PdfReader

from dcshap import HorizontalCollaboration, Schema, shapley_values
from dcshap.desk.notice import Case, notice, pdf
from dcshap.exceptions import InputError
from dcshap.explanation import PartyExplanation
from dcshap.languages import LANGUAGES
from dcshap.schema.columns import Category, Number

JAPANESE_FONT = next(Path("/usr/share/fonts").rglob("ipaexg.ttf"), None)
SET = [
    *("en", "de"),
    pytest.param("ja", marks=pytest.mark.skipif(JAPANESE_FONT is None, reason="IPAexGothic is not installed")),
]
DECISIONS = {
    "en": "Your application was declined.",
    "de": "Ihr Antrag wurde abgelehnt.",
    "ja": "お申し込みはお断りすることとなりました。",
}


@pytest.fixture(autouse=True)
def fonts(monkeypatch, tmp_path):
    """A machine whose only fonts lie in a folder that is empty at first."""
    folder = tmp_path / "fonts"
    folder.mkdir()
    monkeypatch.setattr(pdf, "FOLDERS", (str(folder),))
    pdf._found_font.cache_clear()
    yield folder
    pdf._found_font.cache_clear()


def font_for(language: str) -> Path | None:
    return JAPANESE_FONT if language == "ja" else None


@pytest.fixture(scope="module")
def collaboration() -> HorizontalCollaboration:
    rng = np.random.default_rng(0)
    n = 200
    table = pd.DataFrame(
        {
            "income": rng.integers(0, 50, n) * 100.0,
            "debt": rng.integers(0, 30, n) * 100.0,
            "creed": rng.choice(["north", "south"], n),
        }
    )
    labels = (table["income"] - table["debt"] + 900 * (table["creed"] == "north") > 1500).astype(int)
    columns = (Number("income", 0, 5000, 2500), Number("debt", 0, 3000, 1500))
    schema = Schema((*columns, Category("creed", ("north", "south"), "onehot", "north", sensitive=True)))
    halves = {"bank": (table[:100], labels[:100]), "shop": (table[100:], labels[100:])}
    return HorizontalCollaboration(schema=schema, random_state=0).fit(halves)


@pytest.fixture(scope="module")
def explained(collaboration) -> PartyExplanation:
    rows = pd.DataFrame({"income": [700.0], "debt": [2900.0], "creed": ["south"]})
    found: PartyExplanation = collaboration.explain(rows, party="bank")
    return found


@pytest.fixture
def case(collaboration, explained):
    def make(language: str = "en", **changed: Any) -> Case:
        given: dict[str, Any] = {
            "identifier": "K-17",
            "decided": date(2026, 11, 20),
            "decision": DECISIONS[language],
            "organisation": "Bank <North>\nHarbour 1",
            "recipient": "Kim Doe\nRoad 2",
            "contact": "review@bank.example",
            "explanation": explained,
            "outcome": "repaid",
            "sensitive": collaboration.schema_.sensitive,
            "contributors": {"bank": "accounts", "shop": "purchases"},
            "days": 30,
            "authority": "Ombudsman\nSquare 3",
            "receipt": collaboration.receipt(explained),
        }
        return Case(**(given | changed))

    return make


def shown_in(content: bytes) -> str:
    """What a PDF shows, without spaces."""
    return "".join("".join(page.extract_text() for page in PdfReader(io.BytesIO(content)).pages).split())


def fonts_in(content: bytes) -> set[str]:
    """The fonts that a PDF embeds, without the prefixes of subsets."""
    return {name.rpartition("+")[2] for name in re.findall(r"/BaseFont /([^\s/]+)", content.decode("latin-1"))}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_letter_says_all_that_it_must(case, language):
    one = case(language)
    letter = notice(one, language=language)
    reasons = one.explanation.reasons(language=language, without=one.sensitive, outcome="repaid")
    assert len(reasons) == 2
    for text in (
        *(DECISIONS[language], "K-17", "2026", "review@bank.example", "accounts", "shop", "30", "Ombudsman"),
        *(reason.sentence for reason in reasons),
        *(one.receipt.code, one.receipt.opening, "Bank &lt;North&gt;"),
    ):
        assert text in letter.html, text
    assert f'<html lang="{language}">' in letter.html
    assert len(letter.parts) == 6


@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_of_a_sensitive_column_is_in_the_letter(case, language):
    one = case(language)
    assert "creed" in [reason.feature for reason in one.explanation.reasons(9)]
    letter = notice(one, language=language)
    assert not re.search("creed|south", letter.html)
    assert not re.search("creed|south", repr(letter))  # all that the PDF is made of


@pytest.mark.parametrize("language", SET)
def test_the_pdf_shows_what_the_page_shows(case, language):
    letter = notice(case(language), language=language)
    shown = shown_in(letter.pdf(font=font_for(language)))
    said = [text for part in letter.parts for text in (part.heading, *part.before, *part.items)]
    for text in (*said, *letter.foot, letter.title, letter.about, "Bank <North>", "Kim Doe"):
        assert "".join(text.split()) in shown, text


def test_japanese_lines_break_where_they_may():
    text = "お申し込みは「お断り」することとなりました。収入は、700 ユーロです（年収）。" * 9
    pieces = pdf._breakable(text).split(pdf.MAY_BREAK)
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 5  # "700 " stays whole
    assert not any(piece[0] in pdf.NEVER_FIRST or piece[-1] in pdf.NEVER_LAST for piece in pieces)
    assert pdf._breakable("plain words, none of them wide") == "plain words, none of them wide"


def test_a_sign_that_no_font_has_does_not_reach_the_log(case, caplog):
    assert notice(case(decision="𠮷野")).pdf().startswith(b"%PDF-")
    assert not caplog.records


def test_the_same_letter_is_the_same_file(case):
    one = case(receipt=None)
    assert notice(one).pdf() == notice(one).pdf()
    assert notice(one).pdf().startswith(b"%PDF-")


@pytest.mark.parametrize("language", SET)
def test_long_texts_and_many_reasons_fill_several_pages(case, language):
    rng = np.random.default_rng(0)
    names = [f"a_very_long_name_without_any_space_that_must_be_broken_somewhere_{'x' * 80}_{j}" for j in range(40)]
    X = pd.DataFrame(rng.normal(size=(1, 40)), columns=names)
    many = shapley_values(lambda Z: np.asarray(Z).sum(axis=1), X, 0 * X)
    one = case(
        language,
        explanation=many,
        outcome=None,
        n_reasons=40,
        decision=400 * "Text 文 ",
        contributors={f"party {k} " * 20: "data " * 60 for k in range(9)},
    )
    letter = notice(one, language=language)
    assert len(letter.parts[1].items) > 15
    content = letter.pdf(font=font_for(language))
    assert len(PdfReader(io.BytesIO(content)).pages) >= 3
    assert "x" * 80 in shown_in(content)


def test_a_reason_of_another_organisation_says_whom_to_ask(case, explained):
    seen = PartyExplanation.of(explained, bars={"debt": ("shop",)})
    letter = notice(case(explanation=seen, contributors={}))
    assert any(item.endswith("Which information that is, shop can tell you.") for item in letter.parts[1].items)
    assert letter.parts[3].items == ("bank", "shop")


def test_who_is_not_known_to_contribute_is_not_named(case):
    X = pd.DataFrame({"a": [1.0]})
    alone = shapley_values(lambda Z: np.asarray(Z)[:, 0], X, 0 * X)
    letter = notice(case(explanation=alone, outcome=None, contributors={}, days=None, authority="", receipt=None))
    assert len(letter.parts) == 5
    assert letter.foot == ()
    assert "days" not in letter.parts[-1].before[0]
    assert "%" not in letter.parts[0].before[1]


def test_without_a_reason_the_letter_says_so(case, collaboration):
    typical = collaboration.explain(
        pd.DataFrame({"income": [2500.0], "debt": [1500.0], "creed": ["north"]}), party="bank"
    )
    letter = notice(case(explanation=typical))
    assert letter.parts[1].before[0].startswith("No single piece of information")


def test_a_comparison_with_a_population_says_how_many(case, collaboration):
    rows = pd.DataFrame({"income": [700.0], "debt": [2900.0], "creed": ["south"]})
    compared = collaboration.explain(rows, party="bank", reference="background", n_background=7)
    assert "with 7 cases" in notice(case(explanation=compared)).parts[2].before[0]


def test_a_font_that_the_machine_has_is_embedded_and_a_broken_one_passed_over(case, fonts):
    letter = notice(case())
    assert fonts_in(letter.pdf()) == {"DejaVuSansBook", "DejaVuSansBold"}
    (fonts / "ipaexg.ttf").write_bytes(b"nothing")
    (fonts / "deeper").mkdir()
    mono = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSansMono.ttf"
    shutil.copy(mono, fonts / "deeper" / "ipag.ttf")
    pdf._found_font.cache_clear()
    japanese = notice(case("ja"), language="ja")
    assert japanese.pdf() == japanese.pdf(font=fonts / "deeper" / "ipag.ttf")


def test_a_japanese_pdf_without_a_japanese_font_is_refused_in_words(case):
    with pytest.raises(InputError, match="needs a Japanese font, and none is on this machine"):
        notice(case("ja"), language="ja").pdf()


def test_a_font_that_is_none_is_refused(case, tmp_path):
    (tmp_path / "font.ttf").write_bytes(b"nothing")
    with pytest.raises(InputError, match="TrueType"):
        notice(case()).pdf(font=tmp_path / "font.ttf")


def test_an_unknown_language_is_refused(case):
    with pytest.raises(InputError, match="`language` must be"):
        notice(case(), language="xx")


@pytest.mark.parametrize(("chance", "said"), [(0.49996, "49.996%"), (0.5, "50%"), (0.5001, "50.01%")])
def test_a_chance_that_misses_the_line_does_not_read_as_one_on_it(case, explained, chance, said):
    base = np.array([[1 - chance, chance]]) - explained.values.sum(axis=1)
    letter = notice(case(explanation=replace(explained, base_values=base), output=1, line=0.5))
    assert said in letter.html


def test_a_chance_next_to_a_line_is_written_with_its_tenth(case, explained):
    base = np.array([[0.503, 0.497]]) - explained.values.sum(axis=1)
    nearly = replace(explained, base_values=base)
    assert "49.7" in notice(case(explanation=nearly, output=1)).html
    assert "49,7" in notice(case("de", explanation=nearly, output=1), language="de").html
