"""Settings for all tests."""

from hypothesis import settings

# The first call of a compiled loop compiles it, which no deadline for a single example allows for.
settings.register_profile("slackwater", deadline=None)
settings.load_profile("slackwater")
