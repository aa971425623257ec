"""A model card of skops: what the joint model is, who trained it, what it must not be used for."""

from __future__ import annotations

import pandas as pd
from skops.card import Card

from dcshap.tracking.citations import citations_of
from dcshap.tracking.provenance import Collaboration, provenance, settings_of

__all__ = ["model_card"]

LIMITS = (
    "The model was trained on representations of rows, not on rows. Whoever has the model and a party's maps can apply "
    "it; a model that contains training rows, such as nearest neighbours, shows them to whoever has it. Explanations "
    "that agree between parties are not therefore true: compare them with a model of one's own."
)
# Sections of skops's template that only people can fill; they may add them again.
UNSAID = (
    "Model description/Evaluation Results",
    "How to Get Started with the Model",
    "Model Card Authors",
    "Model Card Contact",
)


def model_card(collaboration: Collaboration, *, description: str = "") -> Card:
    """A card that `card.save("README.md")` writes.

    Parameters
    ----------
    collaboration : HorizontalCollaboration or VerticalCollaboration
        A trained one.
    description : str
        What the model is for.
    """
    bill = provenance(collaboration)
    settings = {name: str(value) for name, value in settings_of(collaboration).items()}
    parties = {name: party.agreement.schema for name, party in collaboration.parties_.items()}
    card = Card(collaboration.analyst_.model_, template="skops")
    said = description or bill["metadata"]["component"]["description"]
    card.add(**{"Model description": said, "Model description/Intended uses & limitations": LIMITS})
    settled = pd.DataFrame({"setting": list(settings), "value": list(settings.values())})
    columns = [", ".join(schema.names) for schema in parties.values()]
    shared = pd.DataFrame({"party": list(parties), "columns": columns})
    card.add_table(Parties=shared, Settings=settled)
    works = "\n".join(f"- {work} ({work.used_for})" for work in citations_of(collaboration))
    trained = f"{bill['metadata']['component']['description']} The parties and their settings are below."
    card.add(**{"Citation": works, "Model description/Training Procedure": trained})
    for section in UNSAID:
        card.delete(section)
    return card
