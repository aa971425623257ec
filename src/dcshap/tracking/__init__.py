"""What is kept about a trained model: where it comes from, what to cite, a model card, and MLflow's records.

`dcshap.tracking.flavour` needs mlflow; the rest does not.
"""

from dcshap.tracking.card import model_card
from dcshap.tracking.citations import Citation, all_citations, citations_of
from dcshap.tracking.provenance import provenance

__all__ = ["Citation", "all_citations", "citations_of", "model_card", "provenance"]
