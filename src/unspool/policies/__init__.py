"""Schedulers, and later dispatchers, provisioners and predictors: each one file."""
