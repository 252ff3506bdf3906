import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unspool.errors import UnitError
from unspool.units import (
    format_bytes,
    format_duration,
    format_number,
    name_duration,
    parse_bytes,
    parse_duration,
    parse_frequency,
    parse_latency,
    parse_part,
    parse_rate,
    parse_speed,
)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2:00", 120.0),
        ("0:05", 5.0),
        ("90:00", 5400.0),
        ("1:30:00", 5400.0),
        ("1-12:00:00", 129600.0),
        ("1d 12:00:00", 129600.0),
        ("0:01.5", 1.5),
        ("5 min", 300.0),
        ("1.5h", 5400.0),
        ("2 days", 172800.0),
        ("1 week", 604800.0),
        ("250ms", 0.25),
        ("1h30m", 5400.0),
        ("1 h 30 min 5 s", 5405.0),
        ("90", 90.0),
        (" 1e3 ", 1000.0),
        (90, 90.0),
        (0.5, 0.5),
    ],
)
def test_durations_are_read_as_seconds(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "soon",
            "-5",
            "-2:00",
            "1:75:00",
            "2:60",
            "1-24:00:00",
            "1-12:00",
            "5 lightyears",
            "1h 30",
            "h",
            "5 min!",
        ),
        *("nan", "inf", "1e999", "1:2:3:4", "1,5h", math.nan, math.inf, -1, True),
    ],
)
def test_what_is_no_duration_is_refused_with_what_was_expected(text):
    with pytest.raises(UnitError, match="is not a duration such as 90, 5 min"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GiB", 4294967296),
        ("64GB", 64_000_000_000),
        ("64 gb", 64_000_000_000),
        ("512", 512),
        ("512B", 512),
        ("1kB", 1000),
        ("1KiB", 1024),
        ("1.5TiB", 1649267441664),
        ("9007199254740993", 9007199254740993),
        (1024, 1024),
        (9007199254740993, 9007199254740993),
        (1.6, 2),
    ],
)
def test_sizes_are_read_as_bytes(text, size):
    assert parse_bytes(text) == size
    assert isinstance(parse_bytes(text), int)


@pytest.mark.parametrize("text", ["", "64G", "-1GB", "1XB", "GB", "8EiB", "9" * 30, "1e400", -1, math.nan, 10**400])
def test_what_is_no_size_is_refused_with_what_was_expected(text):
    with pytest.raises(UnitError, match="is not a size such as 512, 64GB"):
        parse_bytes(text)


def test_frequencies_are_read_as_hertz():
    assert [parse_frequency(text) for text in ("2.5GHz", "800 MHz", "50", 60)] == [2.5e9, 8e8, 50.0, 60.0]


def test_rates_tell_bytes_from_bits():
    texts = ("10MBps", "10MB/s", "1Gbps", "8 kbit/s", "1KiBps", "100Mb/s", "7")
    assert [parse_rate(text) for text in texts] == [1e7, 1e7, 1.25e8, 1000.0, 1024.0, 1.25e7, 7.0]


@pytest.mark.parametrize("text", ["10mBps", "10MB", "fast", "-1MBps"])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(UnitError, match="is not a rate such as 10MBps"):
        parse_rate(text)


def test_an_error_shows_what_was_given():
    with pytest.raises(UnitError) as caught:
        parse_frequency("2.5 parsecs")
    assert str(caught.value) == "'2.5 parsecs' is not a frequency such as 2.5GHz or 800 MHz"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.25, "0.25 s"),
        (45, "45 s"),
        (59.999, "1:00"),
        (125, "2:05"),
        (3600, "1:00:00"),
        (129600, "1d 12:00:00"),
        (-125, "-2:05"),
        (math.inf, "inf"),
    ],
)
def test_durations_are_shown_compactly(seconds, text):
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (512, "512 B"), (1023, "1023 B"), (1024, "1 KiB"), (2**42 + 2**41, "6 TiB")]
)
def test_sizes_are_shown_in_binary_units(size, text):
    assert format_bytes(size) == text


@given(st.integers(0, 10**9))
def test_a_shown_duration_reads_back(seconds):
    assert parse_duration(format_duration(seconds)) == seconds


@given(st.text() | st.floats() | st.integers())
def test_whatever_is_given_parses_or_is_refused(text):
    for parse in (parse_duration, parse_bytes, parse_frequency, parse_rate, parse_speed, parse_latency):
        with suppress(UnitError):
            assert parse(text) >= 0


@pytest.mark.parametrize(
    ("text", "seconds"), [("7d", 604800.0), (90, 90.0), ("0", 0.0), ("10%", 20.0), (" 12.5 % ", 25.0), ("100%", 200.0)]
)
def test_a_part_of_a_span_is_a_duration_or_a_percentage(text, seconds):
    assert parse_part(text, 200.0) == seconds


@pytest.mark.parametrize("text", ["101%", "%", "-5%", "ten%", "5d%", "nan%", "10 percent", -1.0])
def test_other_parts_of_a_span_are_refused(text):
    with pytest.raises(UnitError):
        parse_part(text, 200.0)


def test_speeds_are_flop_per_second_by_decimal_and_binary_prefixes():
    texts = ["1Gf", "0.5Kf", "0.5kf", "76.296Mf", "2 Tf", "1Ef", "1e3", "1Kif", "3Mflops", 7]
    assert [parse_speed(text) for text in texts] == [1e9, 500.0, 500.0, 76.296e6, 2e12, 1e18, 1e3, 1024.0, 3e6, 7.0]


def test_latencies_are_seconds():
    texts = ["50us", "1.5ms", "20ns", "3ps", "2s", "0", "1m", 0.25]
    expected = [50e-6, 1.5e-3, 20e-9, 3e-12, 2.0, 0.0, 60.0, 0.25]
    assert [parse_latency(text) for text in texts] == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("text", ["1gf", "1G", "f", "", "-1Gf", "1e999f", "1Gf,2Gf"])
def test_text_that_is_no_speed_is_refused(text):
    with pytest.raises(UnitError, match="is not a speed such as 1Gf"):
        parse_speed(text)


@pytest.mark.parametrize("text", ["5 min", "us", "1US", "-1us", "50µs"])
def test_text_that_is_no_latency_is_refused(text):
    with pytest.raises(UnitError, match="is not a latency such as 50us"):
        parse_latency(text)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1e6, 6, "1,000,000"),
        (21730.44, 4, "21,730"),
        (1e9, 3, "1,000,000,000"),
        (0.37, 4, "0.37"),
        (5.39784, 6, "5.39784"),
        (1.5e-5, 3, "0.000015"),
        (99.996, 4, "100"),
        (-1234.5, 3, "-1,234"),
        (0, 3, "0"),
        (0.0, 3, "0"),
        (1e-30, 3, "0"),
        (math.inf, 3, "inf"),
    ],
)
def test_numbers_are_written_without_an_exponent(value, digits, text):
    assert format_number(value, digits) == text


@given(st.floats(-1e15, 1e15), st.integers(1, 9))
def test_no_number_has_an_exponent_and_it_is_near(value, digits):
    text = format_number(value, digits)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.51 * 10.0 ** (1 - digits), abs=1e-11)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (86400.0, "1 day"),
        (172800.0, "2 days"),
        (90_000.0, "25 hours"),
        (60.0, "1 minute"),
        (30_000.0, "500 minutes"),
        (90.0, "90 seconds"),
        (0.5, "0.5 seconds"),
    ],
)
def test_a_duration_is_named_in_the_largest_unit_of_which_it_is_a_whole_number(seconds, text):
    assert name_duration(seconds) == text
