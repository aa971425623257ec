from __future__ import annotations

import pytest

from tests.cli.awkward import FILES, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("awkward")
    people(2).to_csv(folder / "south.csv", index=False)
    return folder


@pytest.mark.parametrize(("name", "write", "options", "code", "words"), FILES, ids=[each[0] for each in FILES])
def test_an_awkward_file_gets_its_exit_code_and_its_words(folder, told, name, write, options, code, words):
    if write is not None:
        write(folder / name.removeprefix("sqlite:///"))
    got, said = told(
        *("fit", "horizontal", "--party", f"north={name}", "--party", "south=south.csv", "--target", "sick"),
        *("--out", "run", "--seed", 0, *options),
        folder=folder,
    )
    assert got == code, said
    assert words in said
    assert "Traceback" not in said


def test_there_are_forty_awkward_files_and_none_stands_twice():
    names = [each[0] for each in FILES]
    assert len(names) == len(set(names)) >= 40
