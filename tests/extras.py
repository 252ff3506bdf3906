"""Marks for tests that need an optional package."""

from importlib.util import find_spec

import pytest

needs_sklearn = pytest.mark.skipif(
    find_spec("sklearn") is None, reason="scikit-learn is not installed: pip install 'unspool[ml]'"
)
needs_torch = pytest.mark.skipif(
    find_spec("torch") is None, reason="PyTorch is not installed: pip install 'unspool[torch]'"
)
