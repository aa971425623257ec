"""What a site adds to a role's steps in a training: seeds and results are kept, so that the next one has them.

What takes long to compute is kept too while the training is under way; one that was interrupted is resumed with it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dcshap._disk import create
from dcshap.collaboration import Analyst, HorizontalParty, VerticalParty
from dcshap.collaboration.maps import map_bytes, recall_maps
from dcshap.collaboration.messages import (
    AnchorSeed,
    Commit,
    Integration,
    JoinReport,
    Message,
    Prepared,
    PseudonymKey,
)
from dcshap.exceptions import PrivacyError, ProtocolError
from dcshap.federation.seals.spool import Spool
from dcshap.federation.site.runs import Runs
from dcshap.federation.site.secrets import Secrets

__all__ = ["KeepingAnalyst", "KeepingParty"]


class KeepingParty:
    """A party's seeds and results, kept in its folder.

    Parameters
    ----------
    party : HorizontalParty or VerticalParty
    run : str
    folder : path
    spool : Spool
        The training's files.
    committed : callable
        Is called once the training is used.
    spend : callable
        Is told what the sums spend of differential privacy, before they leave.
    """

    def __init__(
        self,
        party: HorizontalParty | VerticalParty,
        run: str,
        folder: Path,
        spool: Spool,
        *,
        committed: Callable[[], None],
        spend: Callable[[float], None],
    ) -> None:
        self._party, self._run, self._folder, self._committed, self._spend = party, run, folder, committed, spend
        self._spool = spool
        self._runs, self._secrets = Runs(folder), Secrets.load(folder)
        party.anchor_seed = self._secrets.anchor_seed
        if isinstance(party, VerticalParty) and self._secrets.pseudonym_key is not None:
            party.receive_pseudonym_key(PseudonymKey(self._secrets.pseudonym_key))

    def send_anchor(self, to: str) -> AnchorSeed:
        """The seed that was kept, or a new one, which is kept from now on."""
        message = self._party.send_anchor(to)
        self._keep(anchor_seed=message.seed)
        return message

    def receive_anchor(self, message: AnchorSeed) -> None:
        """Take the seed, unless another was agreed on out of band."""
        if self._secrets.agreed and self._secrets.anchor_seed != message.seed:
            raise PrivacyError(
                f"Party {self._party.name!r} was given the anchor's seed out of band, and another anchor is proposed."
            )
        self._party.receive_anchor(message)
        self._keep(anchor_seed=message.seed)

    def send_pseudonym_key(self, to: str) -> PseudonymKey:
        """The key that was kept, or a new one, which is kept from now on."""
        message = self._vertical().send_pseudonym_key(to)
        self._keep(pseudonym_key=message.key)
        return message

    def receive_pseudonym_key(self, message: PseudonymKey) -> None:
        """Take the key, unless another was agreed on out of band."""
        if self._secrets.agreed and self._secrets.pseudonym_key not in (None, message.key):
            raise PrivacyError(
                f"Party {self._party.name!r} was given the key of the pseudonyms out of band: another is refused."
            )
        self._vertical().receive_pseudonym_key(message)
        self._keep(pseudonym_key=message.key)

    # --- what takes long, computed and sent once however often the training is resumed ----------------------

    def send_sums(self, to: str) -> Message:
        """The sums of a supervised span; what they spend of differential privacy is written down when they are made."""
        return self._summed("sums", lambda: self._spending(to), "moments")

    def send_newton(self, to: str, step: str) -> Message:
        """A part of a Newton round."""
        return self._summed(step, lambda: self._horizontal().send_newton(to, step), step)

    def send_bends(self, to: str) -> Message:
        """How residuals curve."""
        return self._summed("bends", lambda: self._horizontal().send_bends(to), "bends")

    def send_bend_checks(self, to: str) -> Message:
        """What rows say of the bends that were proposed."""
        return self._summed("bend_checks", lambda: self._horizontal().send_bend_checks(to), "bend checks")

    def send_moments(self, to: str) -> Message:
        """The moments of a shared span."""
        return self._summed("moments", lambda: self._horizontal().send_moments(to), None)

    def _summed(self, step: str, make: Callable[[], Message], name: str | None) -> Message:
        message, before = self._spool.once(step, "", make)
        if before:
            self._horizontal().recall_sums(message, name)
        return message

    def _spending(self, to: str) -> Message:
        message, epsilon = self._horizontal().send_sums(to), self._party.agreement.epsilon
        if epsilon is not None:
            self._spend(float(epsilon))
        return message

    def send_representation(self, to: str) -> Message:
        """The representation of a horizontal party's rows."""
        return self._represented("representation", to, lambda: self._horizontal().send_representation(to))

    def send_records(self, to: str) -> Message:
        """The representation of a vertical party's records."""
        return self._represented("records", to, lambda: self._vertical().send_records(to))

    def _represented(self, step: str, to: str, make: Callable[[], Message]) -> Message:
        maps = self._spool.folder / "maps"

        def keep_maps_too() -> Message:
            made = make()
            create(maps, map_bytes(self._party))
            return made

        message, before = self._spool.once(step, to, keep_maps_too)
        if before:
            recall_maps(self._party, maps.read_bytes())
        return message

    # --- the end ----------------------------------------------------------------------------------------------

    def send_prepared(self, to: str) -> Prepared:
        """Keep what was trained, beside what is used, before telling so."""
        self._party.run = self._run
        self._runs.prepare(self._run, self._party.save)
        return self._party.send_prepared(to)

    def receive_commit(self, message: Commit) -> None:
        """Use what was trained."""
        if message.run != self._run:
            raise ProtocolError(f"Party {self._party.name!r} prepared another run than the one to be used.")
        self._runs.commit(self._run)
        self._runs.forget_files(self._run)
        self._party.receive_commit(message)
        self._committed()

    def _horizontal(self) -> HorizontalParty:
        if not isinstance(self._party, HorizontalParty):
            raise ProtocolError(f"Party {self._party.name!r} has no sums to add to others'.")
        return self._party

    def _vertical(self) -> VerticalParty:
        if not isinstance(self._party, VerticalParty):
            raise ProtocolError(f"Party {self._party.name!r} has no records to give pseudonyms.")
        return self._party

    def _keep(self, **found: int | bytes) -> None:
        for name, value in found.items():
            setattr(self._secrets, name, value)
        self._secrets.save(self._folder)


class KeepingAnalyst:
    """The analyst's result, kept in its folder."""

    def __init__(self, analyst: Analyst, runs: Runs, spool: Spool) -> None:
        self._analyst, self._runs, self._spool = analyst, runs, spool
        self._ready = False

    def send_integration(self, to: str) -> Integration:
        """A party's alignment and the model, which is kept before it leaves."""
        self._train("integration", to, self._analyst.send_integration)
        return self._analyst.send_integration(to)

    def send_joined(self, to: str) -> JoinReport:
        """How many records were joined; the model is kept before that is told."""
        self._train("joined", to, self._analyst.send_joined)
        return self._analyst.send_joined(to)

    def _train(self, step: str, to: str, train: Callable[[str], Any]) -> None:
        """Train once: an earlier attempt may have, on the same representations."""
        if self._ready:
            return
        run = self._analyst.run
        if self._spool.noted("trained", step) and self._runs.prepared(run):
            self._analyst.adopt(Analyst.load(self._runs.path(run), trusted=self._spool.trusted))
        else:
            train(to)
            self._runs.prepare(run, self._analyst.save)
            self._spool.note("trained", step)
        self._ready = True

    def send_commit(self, to: str) -> Commit:
        """Decide: once the analyst has kept its own result as the one that is used, the training counts."""
        if self._runs.current != self._analyst.run:
            self._runs.commit(self._analyst.run)
        return self._analyst.send_commit(to)
