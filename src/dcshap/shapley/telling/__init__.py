"""How explanations are told: what they compare with, as tables, as shap's, and in notebooks."""
