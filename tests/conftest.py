"""What holds for all tests: how long an example takes decides nothing, for the first may compile."""

from hypothesis import settings

settings.register_profile("unspool", deadline=None)
settings.load_profile("unspool")
