"""What holds for all tests: how long an example takes decides nothing, for the first may compile."""

import gc

from hypothesis import HealthCheck, settings

settings.register_profile("unspool", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unspool")

gc.set_threshold(50_000, 20, 50)  # compiling makes millions of objects, and few of them are circles
