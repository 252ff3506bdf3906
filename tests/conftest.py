"""What holds for all tests: how long an example takes decides nothing, for the first may compile."""

from hypothesis import HealthCheck, settings

settings.register_profile("unspool", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unspool")
