"""The calculator: `evaluate(text) -> str`, raising `CalculatorError` only. (Being rebuilt.)"""

from __future__ import annotations

from react_replay.tools.arithmetic.evaluate import evaluate

__all__ = ["evaluate"]
