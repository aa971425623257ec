"""YAML from others: what its aliases stand for is counted before it is unfolded."""

from __future__ import annotations

from typing import Any

import yaml

__all__ = ["NO_YAML", "BoundedLoader"]

_MOST_NODES = 100_000  # that aliases may stand for; a schema of thousands of columns has none
# What PyYAML lets through beside its own errors: of dates, numbers and keys that are none.
NO_YAML = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class BoundedLoader(yaml.SafeLoader):
    """Refuses aliases that unfold to more than anybody writes, and that contain themselves."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._unfolded = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """A node; where it is an alias, the one that it stands for."""
        alias = self.check_event(yaml.AliasEvent)
        node = super().compose_node(parent, index)
        if alias:
            self._unfolded += self._size(node)
            if self._unfolded > _MOST_NODES:
                raise yaml.composer.ComposerError(None, None, "aliases stand for too much", None)
        return node

    def _size(self, node: Any) -> int:
        """How many nodes one stands for, those of aliases inside it included."""
        if id(node) not in self._sizes:
            if not isinstance(node, yaml.CollectionNode):
                return 1
            self._sizes[id(node)] = _MOST_NODES + 1  # as long as it is being counted: it contains itself
            inside = [each for pair in node.value for each in (pair if isinstance(pair, tuple) else (pair,))]
            self._sizes[id(node)] = 1 + sum(self._size(each) for each in inside)
        return self._sizes[id(node)]
