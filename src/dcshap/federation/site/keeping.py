"""What a site adds to a party's steps in a training: seeds and results are kept, so that the next one has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from dcshap.collaboration import Analyst, HorizontalParty, VerticalParty
from dcshap.collaboration.messages import AnchorSeed, Commit, MaskedMoments, Prepared, PseudonymKey
from dcshap.exceptions import PrivacyError, ProtocolError
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
        *,
        committed: Callable[[], None],
        spend: Callable[[float], None],
    ) -> None:
        self._party, self._run, self._folder, self._committed, self._spend = party, run, folder, committed, spend
        self._spent = False
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

    def send_sums(self, to: str) -> MaskedMoments:
        """The sums of a supervised span; what they spend of differential privacy is written down once."""
        if not isinstance(self._party, HorizontalParty):
            raise ProtocolError(f"Party {self._party.name!r} has no sums to add to others'.")
        message, epsilon = self._party.send_sums(to), self._party.agreement.epsilon
        if epsilon is not None and not self._spent:
            self._spend(float(epsilon))
            self._spent = True
        return message

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
        self._party.receive_commit(message)
        self._committed()

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

    def __init__(self, analyst: Analyst, runs: Runs) -> None:
        self._analyst, self._runs = analyst, runs

    def send_commit(self, to: str) -> Commit:
        """Decide: once the analyst has kept its own result as the one that is used, the training counts."""
        if self._runs.current != self._analyst.run:
            self._runs.prepare(self._analyst.run, self._analyst.save)
            self._runs.commit(self._analyst.run)
        return self._analyst.send_commit(to)
