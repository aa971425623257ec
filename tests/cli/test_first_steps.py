"""The documentation's first steps and schemas, exactly as they stand there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from dcshap import Schema

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def commands(page: str) -> list[list[str]]:
    lines = [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]
    return [shlex.split(line, comments=True) for line in lines]


def test_the_first_steps_lead_to_an_explanation_in_three_commands(tmp_path, monkeypatch, told):
    (split,) = blocks("first-steps.md", "python")
    monkeypatch.chdir(tmp_path)
    exec(compile(split, "first-steps.md", "exec"), {})  # noqa: S102 - our own documentation
    steps = commands("first-steps.md")
    assert [step[1] for step in steps] == ["fit", "explain", "compare"]
    for program, *arguments in steps:
        code, said = told(*arguments, folder=tmp_path)
        assert program == "dcshap"
        assert code == 0, said
    assert "<html" in (tmp_path / "why.html").read_text(encoding="utf-8")
    (said_of_codes,) = re.findall(r"^Note: .*", (DOCS / "first-steps.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert said_of_codes in told(*steps[0][1:], folder=tmp_path)[1]
    for _, *arguments in commands("schema.md"):
        code, said = told(*arguments, folder=tmp_path)
        assert code == 0, said


def test_the_documented_schema_is_one():
    (text,) = blocks("schema.md", "yaml")
    schema = Schema.from_yaml(text)
    assert len(schema) == 7
    assert Schema.from_yaml(schema.to_yaml()) == schema


def test_every_key_of_a_schema_is_documented():
    table = (DOCS / "schema.md").read_text(encoding="utf-8")
    entries = Schema.from_yaml(blocks("schema.md", "yaml")[0]).to_dict()["columns"].values()
    for key in {key for entry in entries for key in entry}:
        assert f"`{key}`" in table
