"""What the engine's jobs and the classes in them are called."""

from __future__ import annotations

__all__ = ["CONTROLLER", "EXECUTOR", "NAME_BEGINS"]

CONTROLLER = "dcshap.federation.flare.controller.AnalystController"
EXECUTOR = "dcshap.federation.flare.executor.PartyExecutor"
NAME_BEGINS = "dcshap "  # how the engine's names of our jobs begin
