"""A schema as YAML text. What YAML would read otherwise than it was meant is refused, with its line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import yaml

from dcshap._yaml import NO_YAML, BoundedLoader
from dcshap.exceptions import SchemaError

__all__ = ["read_notation", "write_notation"]

_TEXT, _BOOLEAN = "tag:yaml.org,2002:str", "tag:yaml.org,2002:bool"
_LABELS = ("categories", "typical", "rest")


def read_notation(text: str) -> Any:
    """The plain content of a schema's YAML text."""
    loader = None
    try:
        loader = BoundedLoader(text)
        tree = loader.get_single_node()
        problems = list(_problems(tree))
        if problems:
            raise SchemaError("The schema cannot be read. " + " ".join(problems))
        return None if tree is None else loader.construct_document(tree)
    except SchemaError:
        raise
    except (yaml.YAMLError, *NO_YAML) as error:
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" Look at line {mark.line + 1}."
        raise SchemaError(f"The schema is not valid YAML.{where}") from error
    finally:
        if loader is not None:
            loader.dispose()


def write_notation(content: Any) -> str:
    """Plain content as YAML text, ready to be edited by hand."""
    # PyYAML would write unusual line breaks as they are, and read them as spaces.
    odd = any(mark in json.dumps(content, ensure_ascii=False) for mark in "\x85\u2028\u2029")
    return yaml.safe_dump(content, sort_keys=False, default_flow_style=None, allow_unicode=not odd, width=110)


def _problems(tree: Any) -> Iterator[str]:
    """What is wrong with column names and categories, a sentence each."""
    columns = _entries(tree).get("columns")
    seen: dict[str, int] = {}
    for name, entry in columns.value if isinstance(columns, yaml.MappingNode) else ():
        if isinstance(name, yaml.ScalarNode):
            yield from _as_truth(name, "a column's name")
            if name.value in seen:
                yield f"Lines {seen[name.value]} and {_line(name)}: the column {name.value!r} stands there twice."
            seen[name.value] = _line(name)
            if name.tag not in (_TEXT, _BOOLEAN):
                yield f"Line {_line(name)}: a column's name must be text. Write it in quotation marks."
        for key, node in _entries(entry).items():
            if key in _LABELS:
                for each in node.value if isinstance(node, yaml.SequenceNode) else [node]:
                    yield from _as_truth(each, "a category")


def _as_truth(node: Any, what: str) -> Iterator[str]:
    """YAML takes yes, no, on and off for truth values; true and false are meant so."""
    if isinstance(node, yaml.ScalarNode) and node.tag == _BOOLEAN and node.value.lower() not in ("true", "false"):
        yield (
            f"Line {_line(node)}: YAML reads {node.value} as a truth value. Write {node.value!r}, in quotation marks, "
            f"where it is {what}; true or false where it is a truth value."
        )


def _entries(node: Any) -> dict[str, Any]:
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1
