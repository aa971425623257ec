"""Pictures of explanations, and self-contained pages of them.

Pictures (`waterfall`, `dots`, `rmse_bars`, `side_by_side`) are matplotlib figures that no pyplot state knows of. A
`Report` is made of `Section`s of blocks: `Paragraph`, `Note`, `KeyFigures`, `Listing`, `Table`, `Picture`.
"""

from dcshap.report.bars import rmse_bars
from dcshap.report.collaboration import (
    accuracy_section,
    collaboration_report,
    collaboration_sections,
    participants_section,
    parties_table,
    seen_section,
    sent_table,
    settings_table,
)
from dcshap.report.comparison import disagreement_section
from dcshap.report.dots import dots
from dcshap.report.explained import explanation_report, explanation_section, reference_section
from dcshap.report.exposure import audit_report, audit_section, exposure_bars
from dcshap.report.page import Block, KeyFigures, Listing, Note, Paragraph, Picture, Report, Section, Table
from dcshap.report.parties import side_by_side
from dcshap.report.waterfall import describe_waterfall, waterfall

__all__ = [
    "Block",
    "KeyFigures",
    "Listing",
    "Note",
    "Paragraph",
    "Picture",
    "Report",
    "Section",
    "Table",
    "accuracy_section",
    "audit_report",
    "audit_section",
    "collaboration_report",
    "collaboration_sections",
    "describe_waterfall",
    "disagreement_section",
    "dots",
    "explanation_report",
    "explanation_section",
    "exposure_bars",
    "participants_section",
    "parties_table",
    "reference_section",
    "rmse_bars",
    "seen_section",
    "sent_table",
    "settings_table",
    "side_by_side",
    "waterfall",
]
