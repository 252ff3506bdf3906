"""The loops over engine and policies, one file a family, and `Engine`: what Python sees."""
