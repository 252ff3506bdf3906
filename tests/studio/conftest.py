import pytest

pytest.importorskip("starlette", reason="the extra studio is not installed")
pytest.importorskip("httpx", reason="httpx is not installed")
