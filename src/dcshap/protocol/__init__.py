"""Who sends what to whom, in which order: once, as data, without input or output.

`steps` has the tables; a `Node` takes one role through a table, and a `Carrier` brings its messages to the others.
"""

from dcshap.protocol.carrier import Answered, Carrier
from dcshap.protocol.cast import Cast
from dcshap.protocol.memory import run_in_memory
from dcshap.protocol.node import Node
from dcshap.protocol.steps import Protocol, Step

__all__ = ["Answered", "Carrier", "Cast", "Node", "Protocol", "Step", "run_in_memory"]
