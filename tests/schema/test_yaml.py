"""A schema as YAML: whatever its names and categories are, it is read as it was written."""

from __future__ import annotations

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from dcshap import Schema
from dcshap.exceptions import SchemaError

texts = st.text(min_size=1, max_size=12)
numbers = st.floats(-1e12, 1e12, allow_nan=False)
columns = st.one_of(
    st.lists(numbers, min_size=3, max_size=3, unique=True),
    st.lists(texts, min_size=3, max_size=3, unique=True),
    st.lists(st.integers(-(10**9), 10**9).map(float), min_size=3, max_size=3, unique=True),
)


@settings(max_examples=150, deadline=None)
@given(names=st.lists(texts, min_size=1, max_size=4, unique=True), data=st.data(), robust=st.booleans())
def test_a_schema_is_read_as_it_was_written(names, data, robust):
    table = pd.DataFrame({name: data.draw(columns) for name in names})
    try:
        schema = Schema.from_frames([table], robust=robust)
    except SchemaError:
        return  # said in words: a name or a column that cannot be
    again = Schema.from_yaml(schema.to_yaml())
    assert again == schema
    assert again.to_yaml() == schema.to_yaml()
    assert again.differences(schema) == []


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=60) | st.text(alphabet=":-[]{}&*#!|>%@, \n'\"abc01", max_size=60))
def test_any_text_is_a_schema_or_refused_in_words(text):
    try:
        Schema.from_yaml(text)
    except SchemaError:
        return
    assert Schema.from_yaml(text).to_yaml()
