"""Findings about a machine, from trees of files as a kernel writes them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from forebay.cli.doctor import clock, disk, memory
from forebay.cli.doctor.examine import kernel_findings
from forebay.cli.doctor.finding import Finding, Level
from forebay.cli.doctor.patient import Look
from forebay.cli.doctor.subject import Subject, pid_here
from forebay.cli.doctor.tree import Tree

GB = 1 << 30
PID = 4711

LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max processes             94000                94000                processes
Max open files            {soft}                 {hard}                files
"""
#: A healthy machine, and a server on it.
GOOD = {
    "proc/self/limits": LIMITS.format(soft=1024, hard=524288),
    f"proc/{PID}/limits": LIMITS.format(soft=10032, hard=524288),
    f"proc/{PID}/status": "Name:\tforebay\nVmSwap:\t       0 kB\nTHP_enabled:\t1\n",
    f"proc/{PID}/cgroup": "0::/system.slice/forebay.service\n",
    "proc/self/cgroup": "0::/\n",
    "proc/meminfo": "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\nSwapTotal: 0 kB\n"
    "CommitLimit: 8388608 kB\nCommitted_AS: 7340032 kB\n",
    "proc/sys/vm/overcommit_memory": "1\n",
    "proc/sys/net/core/somaxconn": "4096\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet acpi_pm\n",
}


def tree_of(root: Path, **changed: str) -> Tree:
    """The good machine, with some of its files changed."""
    for path, text in (GOOD | changed).items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return Tree(root)


def running(**facts: int) -> Subject:
    """A running server there that holds 2 GB."""
    given = {"held_bytes": 2 * GB, "rewrite_bytes": GB, **facts}
    return Subject(folder=Path("/var/lib/forebay"), pid=PID, **given)


def about(topic: str, findings: list[Finding]) -> Finding:
    (found,) = [finding for finding in findings if finding.topic == topic]
    return found


def examined(tree: Tree, subject: Subject) -> list[Finding]:
    return [clock.source_finding(tree), *kernel_findings(tree, subject)]


def test_a_good_machine_gets_no_advice(tmp_path: Path) -> None:
    findings = examined(tree_of(tmp_path), running())
    assert {finding.level for finding in findings} == {Level.OK}, findings
    assert not any(finding.do for finding in findings)


V1_CGROUP = "9:name=systemd:/\n4:cpu,memory:/docker/abc\n"


@pytest.mark.parametrize(
    ("topic", "level", "files", "told", "do"),
    [
        (
            "open files",
            Level.ADVICE,
            {f"proc/{PID}/limits": LIMITS.format(soft=1024, hard=524288)},
            "1,024 files may be open, which is not enough for maxclients 10,000",
            "ulimit -n 10032",
        ),
        (
            "accept queue",
            Level.ADVICE,
            {"proc/sys/net/core/somaxconn": "128\n"},
            "net.core.somaxconn is 128, less than tcp-backlog 511",
            "net.core.somaxconn=511",
        ),
        (
            "huge pages",
            Level.ADVICE,
            {"sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n"},
            "2 MB instead of 4 KB",
            "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        (
            "huge pages",
            Level.OK,
            {
                "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
                f"proc/{PID}/status": "THP_enabled:\t0\n",
            },
            "turned transparent huge pages off for itself",
            "",
        ),
        (
            "overcommit",
            Level.ADVICE,
            {"proc/sys/vm/overcommit_memory": "0\n"},
            "may be refused",
            "vm.overcommit_memory=1",
        ),
        (
            "overcommit",
            Level.PROBLEM,
            {"proc/sys/vm/overcommit_memory": "2\n"},
            "only 1 GB may still be promised",
            "vm.overcommit_memory=1",
        ),
        (
            "memory for a fork",
            Level.ADVICE,
            {"proc/meminfo": "MemAvailable: 1048576 kB\nSwapTotal: 0 kB\n"},
            "1 GB of memory are free, less than the 2 GB that the server holds",
            f"-p {PID}",
        ),
        (
            "memory for a fork",
            Level.PROBLEM,
            {"proc/meminfo": "MemAvailable: 102400 kB\nSwapTotal: 0 kB\n"},
            "may get the server killed",
            "free -m",
        ),
        (
            "memory for a fork",
            Level.PROBLEM,
            {
                "sys/fs/cgroup/system.slice/forebay.service/memory.max": f"{3 * GB}\n",
                "sys/fs/cgroup/system.slice/forebay.service/memory.current": f"{3 * GB}\n",
            },
            "0 bytes of memory are free",
            "free -m",
        ),
        (
            "swap",
            Level.PROBLEM,
            {f"proc/{PID}/status": "VmSwap:\t  409600 kB\n"},
            "400 MB of the server's memory are in swap",
            "vm.swappiness=1",
        ),
        (
            "swap",
            Level.OK,
            {"proc/meminfo": "MemAvailable: 8388608 kB\nSwapTotal: 2097152 kB\n"},
            "2 GB of swap, and no memory of the server is in it",
            "",
        ),
        (
            "memory limit",
            Level.ADVICE,
            {
                "sys/fs/cgroup/system.slice/memory.max": f"{10 * GB}\n",
                "sys/fs/cgroup/system.slice/memory.current": f"{3 * GB}\n",
            },
            "allows 10 GB of memory and there is no maxmemory",
            "CONFIG SET maxmemory 6144mb",
        ),
        (
            "memory limit",
            Level.ADVICE,
            {
                f"proc/{PID}/cgroup": V1_CGROUP,
                "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": f"{4 * GB}\n",
                "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": f"{GB}\n",
            },
            "allows 4 GB of memory",
            "maxmemory 2457mb",
        ),
        (
            "memory limit",
            Level.ADVICE,
            {  # in a container only the top of the host's path is there
                f"proc/{PID}/cgroup": "0::/kubepods/pod1/server\n",
                "sys/fs/cgroup/memory.max": f"{2 * GB}\n",
                "sys/fs/cgroup/memory.current": f"{GB}\n",
            },
            "allows 2 GB of memory",
            "maxmemory 1228mb",
        ),
        (
            "memory limit",
            Level.OK,
            {  # what version 1 says for "no limit"
                f"proc/{PID}/cgroup": V1_CGROUP,
                "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes": "9223372036854771712\n",
                "sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes": f"{GB}\n",
            },
            "No control group limits the memory",
            "",
        ),
        (
            "clock source",
            Level.ADVICE,
            {"sys/devices/system/clocksource/clocksource0/current_clocksource": "acpi_pm\n"},
            "comes from acpi_pm, which is slow to read",
            "echo tsc | sudo tee",
        ),
    ],
)
def test_one_thing_that_is_wrong_is_found(
    topic: str, level: Level, files: dict[str, str], told: str, do: str, tmp_path: Path
) -> None:
    findings = examined(tree_of(tmp_path, **files), running())
    found = about(topic, findings)
    assert found.level is level and told in found.sentence, found
    assert do in found.do and bool(found.do) == (level is not Level.OK)


def test_a_server_that_fits_its_container_is_well(tmp_path: Path) -> None:
    tree = tree_of(
        tmp_path,
        **{"sys/fs/cgroup/memory.max": f"{8 * GB}\n", "sys/fs/cgroup/memory.current": f"{GB}\n"},
    )
    found = memory.group_finding(tree, running(maxmemory=4 * GB))
    assert (found.level, found.facts["limit_bytes"]) == (Level.OK, 8 * GB)


def test_files_that_are_only_cached_leave_room_in_a_container(tmp_path: Path) -> None:
    folder = "sys/fs/cgroup/system.slice/forebay.service"
    files = {
        f"{folder}/memory.max": f"{6 * GB}\n",
        f"{folder}/memory.current": f"{6 * GB}\n",
        f"{folder}/memory.stat": f"anon {2 * GB}\ninactive_file {4 * GB}\n",
    }
    found = memory.fork_finding(tree_of(tmp_path, **files), running())
    assert (found.level, found.facts["free_bytes"]) == (Level.OK, 4 * GB)


def test_before_a_start_the_hard_limit_of_this_shell_counts(tmp_path: Path) -> None:
    tree, would_start = tree_of(tmp_path), Subject(folder=tmp_path)
    assert about("open files", examined(tree, would_start)).facts["limit"] == 524288
    tree = tree_of(tmp_path, **{"proc/self/limits": LIMITS.format(soft=1024, hard=4096)})
    assert about("open files", examined(tree, would_start)).level is Level.ADVICE


def test_a_limit_may_be_none_at_all(tmp_path: Path) -> None:
    text = LIMITS.format(soft="unlimited", hard="unlimited")
    tree = tree_of(tmp_path, **{f"proc/{PID}/limits": text})
    assert about("open files", examined(tree, running())).level is Level.OK


@pytest.mark.parametrize("has_files", [False, True])
def test_what_the_kernel_does_not_tell_is_unknown_and_no_error(
    has_files: bool, tmp_path: Path
) -> None:
    if has_files:  # each of them holds something else
        tree_of(tmp_path, **dict.fromkeys(GOOD, "\x00 what\n[is] this: even? max\n"))
        for path in GOOD:
            if "cgroup" in path or "clocksource" in path or "hugepage" in path:
                (tmp_path / path).unlink()
                (tmp_path / path).mkdir()
    findings = examined(Tree(tmp_path), running())
    assert {finding.level for finding in findings} == {Level.UNKNOWN}, findings


# The clock


def test_a_step_of_the_clock_is_a_problem_and_a_gentle_correction_is_none() -> None:
    assert clock.step_finding(0.002, 5.0).level is Level.OK
    back, forward = clock.step_finding(-3.0, 5.0), clock.step_finding(0.2, 5.0)
    assert (back.level, forward.level) == (Level.PROBLEM, Level.PROBLEM)
    assert "stepped back by 3 s" in back.sentence and "forward by 200 ms" in forward.sentence


def test_the_kernel_says_whether_somebody_keeps_its_clock_right() -> None:
    assert clock.kernel_clock_state() in range(-1, 6)
    levels = [clock.sync_finding(state).level for state in (-1, 0, 4, 5)]
    assert levels == [Level.UNKNOWN, Level.OK, Level.OK, Level.ADVICE]


# The disk

HERE = Subject(folder=Path("/data"), rewrite_bytes=10 * GB)
ALWAYS = Subject(folder=Path("/data"), appendfsync="always")


def syncs(*taken_ms: float) -> disk.SyncTimes:
    return disk.SyncTimes(tuple(sorted(ms / 1000 for ms in taken_ms)))


def test_syncs_are_timed_and_leave_nothing_in_the_folder(tmp_path: Path) -> None:
    times = disk.measure_syncs(tmp_path, 1.0)
    assert 1 < len(times.sorted_s) <= disk.MOST_SYNCS
    assert 0 < times.median_s <= times.p99_s <= times.sorted_s[-1]
    assert list(tmp_path.iterdir()) == []


def test_even_a_disk_that_needs_longer_than_there_is_time_is_tried_once(tmp_path: Path) -> None:
    assert len(disk.measure_syncs(tmp_path, 0.0).sorted_s) == 1


@pytest.mark.parametrize(
    ("subject", "times", "level", "told"),
    [
        (HERE, syncs(1, 1, 1, 2), Level.OK, "A sync takes 1 ms (p99 2 ms), 800 a second"),
        (HERE, syncs(20, 20, 20), Level.OK, "with everysec no client waits"),
        (ALWAYS, syncs(20, 20, 20), Level.ADVICE, "each write waits this long"),
        (HERE, syncs(*[1] * 9, 150), Level.ADVICE, "too slow for always"),
        (HERE, syncs(*[1] * 9, 1500), Level.PROBLEM, "writers stop"),
        (HERE, syncs(0.002, 0.002), Level.ADVICE, "no disk is this fast"),
    ],
)
def test_the_speed_of_syncs_is_judged_by_what_waits_for_them(
    subject: Subject, times: disk.SyncTimes, level: Level, told: str
) -> None:
    found = disk.judge_syncs(subject, times)
    assert found.level is level and told in found.sentence
    assert bool(found.do) == (level is not Level.OK)


def test_a_folder_that_cannot_be_used_is_a_problem_if_it_was_asked_for(tmp_path: Path) -> None:
    nowhere = Subject(folder=tmp_path / "it's not here")
    named = disk.sync_finding(nowhere, 0.1, is_asked_for=True)
    assert named.level is Level.PROBLEM and "No such file" in named.sentence
    assert named.do == f"mkdir -p '{tmp_path}/it'\"'\"'s not here'"
    assert disk.sync_finding(nowhere, 0.1, is_asked_for=False).level is Level.UNKNOWN
    assert disk.space_finding(nowhere).level is Level.UNKNOWN


def test_room_on_the_disk_is_judged_by_what_a_rewrite_needs() -> None:
    levels = [disk.judge_space(HERE, free * GB).level for free in (5, 15, 25)]
    assert levels == [Level.PROBLEM, Level.ADVICE, Level.OK]
    assert disk.judge_space(Subject(folder=Path("/data")), GB // 2).level is Level.ADVICE
    assert disk.space_finding(Subject(folder=Path("/"))).facts["free_bytes"] > 0


MOUNTS = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /dev/shm rw - tmpfs tmpfs rw
26 22 8:9 / /srv rw - tmpfs tmpfs rw
27 22 8:9 / /srv rw - xfs /dev/sdb1 rw
24 22 0:40 / /mnt/far\\040away rw - nfs4 box:/x rw
not a line of a kernel
"""


@pytest.mark.parametrize(
    ("folder", "level", "kind"),
    [
        ("/var/lib/forebay", Level.OK, "ext4"),
        ("/dev/shm/data", Level.ADVICE, "tmpfs"),
        ("/srv/data", Level.OK, "xfs"),
        ("/dev/shmoo", Level.OK, "ext4"),
        ("/mnt/far away", Level.ADVICE, "nfs4"),
    ],
)
def test_the_kind_of_a_disk_is_that_of_the_nearest_mount_and_the_last_on_it(
    folder: str, level: Level, kind: str, tmp_path: Path
) -> None:
    tree = tree_of(tmp_path, **{"proc/self/mountinfo": MOUNTS})
    found = disk.kind_finding(tree, Path(folder))
    assert (found.level, found.facts["kind"]) == (level, kind)
    assert disk.kind_finding(Tree(tmp_path / "none"), Path(folder)).level is Level.UNKNOWN


# Which process is the server's


def stat(started_s: int) -> str:
    fields = ["0"] * 40
    fields[19] = str(started_s * os.sysconf("SC_CLK_TCK"))
    return f"{PID} (a name) with ) S " + " ".join(fields[1:])


@pytest.mark.parametrize(
    ("started_s", "uptime_s", "pid"), [(900, 98, PID), (900, 3600, None), (100, 98, None)]
)
def test_a_process_with_the_same_number_and_another_age_is_another_one(
    started_s: int, uptime_s: int, pid: int | None, tmp_path: Path
) -> None:
    files = {f"proc/{PID}/stat": stat(started_s), "proc/uptime": "1000.00 1990.00\n"}
    info = {"process_id": str(PID), "uptime_in_seconds": str(uptime_s)}
    assert pid_here(tree_of(tmp_path, **files), Look(info, 0.0, 0.0)) == pid


def test_a_server_without_a_number_or_a_process_runs_elsewhere(tmp_path: Path) -> None:
    info = {"process_id": str(PID), "uptime_in_seconds": "1"}
    assert pid_here(tree_of(tmp_path), Look(info, 0.0, 0.0)) is None
    assert pid_here(tree_of(tmp_path), Look({}, 0.0, 0.0)) is None
