import jaxtyping
import pytest
import torch

pytest_plugins = ["tests.browsing"]


@pytest.fixture(autouse=True)
def seed():
    """Every test draws the same random numbers, alone or in company."""
    torch.manual_seed(0)


@pytest.fixture
def unchecked(monkeypatch):
    """Switch the shape checks of this run off: what is tested is the error that a reader of the book would see."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
