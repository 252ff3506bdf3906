"""Which worker should a job go to? Experiments of dispatchers, predictors and metrics, as Simdex has them and more."""
