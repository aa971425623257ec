"""A ledger whose end was cut off is noticed by its owner at the next meeting, because its partners remember more."""

from __future__ import annotations

import pytest
from sklearn.linear_model import LogisticRegression

from dcshap.exceptions import StorageError

from .twin import NAME


@pytest.mark.parametrize("who", ["shop", "server"])
def test_a_cut_ledger_is_noticed_at_the_next_meeting(twin, who):
    run = twin("horizontal", ["bank", "shop"])
    run.trained(LogisticRegression())
    run.again().analyst().resume("again")
    path = run.folder / who / "dcshap" / "ledger.jsonl"
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:3]))
    with pytest.raises(StorageError, match="lines are gone"):
        run.again().analyst().resume("cut")
    with pytest.raises(StorageError, match="lines are gone"):
        run.again().analyst().resume("cut-again")  # what partners remember is not replaced by what was refused
    path.write_bytes(whole)
    run.again().analyst().resume("whole")


def test_partners_that_forget_let_a_site_begin_anew(twin):
    run = twin("horizontal", ["bank", "shop"])
    run.trained(LogisticRegression())
    run.again().analyst().resume("again")
    (run.folder / "shop" / "dcshap" / "ledger.jsonl").unlink()
    with pytest.raises(StorageError, match=r"ledgers\.json"):
        run.again().analyst().resume("lost")
    (run.folder / "server" / "dcshap" / NAME / "ledgers.json").unlink()
    run.again().analyst().resume("anew")
