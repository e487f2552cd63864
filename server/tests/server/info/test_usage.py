"""The resources that the process uses, and how fast a counter grows."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from forebay.server.info import usage
from forebay.server.info.memory_section import human
from forebay.server.net.timers import Clock
from testkit.hand_server import HandClock


@pytest.fixture(autouse=True)
def no_garbage() -> Iterator[None]:
    """Collects the garbage of other tests first, and none while a test measures."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_memory_and_processor_time_are_of_a_sensible_size() -> None:
    assert 1 << 20 < usage.resident_bytes() <= usage.system_bytes()
    # Not in the resident memory: pages that were never used, or that were swapped out.
    assert 1 << 20 < usage.allocated_bytes() <= usage.system_bytes()
    times = dict(usage.cpu_seconds())
    assert len(times) == 6
    assert times["used_cpu_user"] > 0


def test_used_memory_falls_when_objects_go() -> None:
    before = usage.allocated_bytes()
    blocks = [bytearray(4000) for _ in range(5000)]
    during = usage.allocated_bytes()
    del blocks
    after = usage.allocated_bytes()
    assert during > before + (18 << 20)
    assert after < before + (2 << 20)


class StillClock(Clock):
    """A clock that a test sets."""

    time_us = 1

    def us(self) -> int:
        return self.time_us


def test_memory_is_not_measured_again_at_every_question() -> None:
    clock = StillClock()
    gauge = usage.MemoryGauge(clock)
    before = gauge.used()
    block = bytearray(50 << 20)
    assert gauge.used() == before
    clock.time_us += usage.MEASURE_AGAIN_US
    assert gauge.used() > before + (40 << 20)
    del block
    clock.time_us += usage.MEASURE_AGAIN_US
    assert gauge.used() < before + (10 << 20)
    assert gauge.peak() > before + (40 << 20)
    assert gauge.startup_bytes == before


def test_the_time_of_the_peak_is_when_it_was_measured() -> None:
    clock = HandClock()
    gauge = usage.MemoryGauge(clock)
    gauge.used()
    clock.pass_ms(60_000)
    block = bytearray(50 << 20)
    gauge.used()
    at_peak = clock.wall_ms // 1000
    assert gauge.peak_s == at_peak
    del block
    clock.pass_ms(60_000)
    gauge.used()
    assert gauge.peak_s == at_peak


def test_a_rate_knows_how_much_it_has_seen() -> None:
    rate = usage.Rate()
    assert rate.growth() == 0
    for tick in range(100):
        rate.sample(tick, tick * 3)
    assert rate.growth() == 3 * (usage.RATE_SAMPLES - 1)


def test_a_rate_is_the_growth_over_the_samples() -> None:
    rate = usage.Rate()
    assert rate.per_second() == 0.0
    for tick in range(100):
        rate.sample(tick * 100, tick * 50)
    assert rate.per_second() == 500.0


def test_a_rate_starts_again_when_its_counter_was_reset() -> None:
    rate = usage.Rate()
    rate.sample(0, 1000)
    rate.sample(100, 2000)
    rate.sample(200, 5)
    assert rate.per_second() == 0.0
    rate.sample(300, 15)
    assert rate.per_second() == 100.0


def test_a_size_for_people_has_two_digits_and_a_unit() -> None:
    sizes = [0, 1023, 1024, 1536, 10 << 20, 3 << 30, 1 << 42]
    shown = ["0B", "1023B", "1.00K", "1.50K", "10.00M", "3.00G", "4.00T"]
    assert [human(size) for size in sizes] == shown


def test_memory_is_measured_sooner_when_much_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = [100, 200, 300]
    monkeypatch.setattr(usage, "allocated_bytes", lambda: measured.pop(0))
    arrived = 0
    gauge = usage.MemoryGauge(HandClock(), lambda: arrived)
    assert gauge.used() == 100
    arrived = usage.SOON_BYTES - 1
    assert gauge.used() == 100
    arrived = usage.SOON_BYTES
    assert gauge.used() == 200
    assert gauge.used() == 200
