"""The paper's experiments on the real data, one file each, with the paper's figures beside ours."""

from dcshap.paper.outcome import Experiment, Options, Outcome
from dcshap.paper.reproduction import ALL, EXPERIMENTS, Reproduction, reproduce

__all__ = ["ALL", "EXPERIMENTS", "Experiment", "Options", "Outcome", "Reproduction", "reproduce"]
