def test_all_kinds_are_listed(unspool):
    said = unspool("plugins")
    assert said.code == 0
    for word in ("fcfs", "easy", "conservative", "swf", "parquet", ".csv.gz", "contiguous", "First come, first served"):
        assert word in said.out


def test_one_kind_is_listed_alone(unspool):
    said = unspool("plugins", "selections")
    assert "--select spread" in said.out
    assert "easy" not in said.out


def test_orders_and_predictors_are_listed(unspool):
    said = unspool("plugins", "orders")
    assert said.code == 0
    assert said.out.startswith("orders")
    for word in ("sjf", "wfp3", "multifactor", "By estimate, the shortest first."):
        assert word in said.out
    said = unspool("plugins", "predictors")
    assert "last-two" in said.out
    assert "The mean run time of the user's last two jobs" in said.out
    assert "The same" not in said.out  # the list is sorted, so that no row can mean the one above it


def test_an_unknown_kind_is_told_the_nearest(unspool):
    known = (
        "did you mean 'schedulers'? Known: dispatcher, duration_predictor, figures, formats, metrics, orders, "
        "predictors, sa_strategy, schedulers, selections, worker_selector"
    )
    assert unspool("plugins", "shedulers") == (2, "", f"unspool: unknown kind of plugin 'shedulers'; {known}\n")


def test_components_of_experiments_are_listed_by_the_key_that_takes_them(unspool):
    said = unspool("plugins", "dispatcher")
    assert "The active worker with the fewest jobs." in said.out
    assert "dispatcher: central-shortest" in said.out
