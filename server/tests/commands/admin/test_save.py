"""SAVE, BGSAVE, BGREWRITEAOF and LASTSAVE: their replies; server/tests/server tests their work."""

from pathlib import Path

from server.tests.support.admin_client import AdminClient
from testkit.resp import ReplyError


def test_save_writes_the_snapshot_and_says_ok(tmp_path: Path) -> None:
    client = AdminClient(data_dir=str(tmp_path), dbfilename="all.rdb")
    client("SET", "a", "1")
    assert client("SAVE") == "OK"
    assert (tmp_path / "all.rdb").read_bytes().startswith(b"REDIS0010")


def test_save_says_why_it_failed(tmp_path: Path) -> None:
    client = AdminClient(data_dir=str(tmp_path / "none"))
    reply = client("SAVE")
    assert isinstance(reply, ReplyError)
    assert "No such file or directory" in str(reply)


def test_save_is_not_for_transactions() -> None:
    client = AdminClient()
    client("MULTI")
    assert isinstance(client("SAVE"), ReplyError)


def test_bgsave_takes_no_word_but_schedule() -> None:
    client = AdminClient()
    assert client("BGSAVE", "later") == ReplyError("ERR syntax error")
    assert client("BGSAVE", "SCHEDULE", "x") == ReplyError("ERR syntax error")
    assert client("BGSAVE", "schedule") == "Background saving started"


def test_bgsave_counts_as_under_way_at_once() -> None:
    client = AdminClient()
    assert client("BGSAVE") == "Background saving started"
    assert client.info("persistence")["rdb_bgsave_in_progress"] == "1"
    assert client("BGSAVE") == ReplyError("ERR Background save already in progress")
    assert client("SAVE") == ReplyError("ERR Background save already in progress")


def test_bgrewriteaof_waits_for_a_snapshot_under_way() -> None:
    client = AdminClient()
    client("BGSAVE")
    assert client("BGREWRITEAOF") == "Background append only file rewriting scheduled"


def test_bgsave_does_not_wait_for_a_rewrite_unless_told_to() -> None:
    client = AdminClient()
    assert client("BGREWRITEAOF") == "Background append only file rewriting started"
    assert client("BGREWRITEAOF") == ReplyError(
        "ERR Background append only file rewriting already in progress"
    )
    assert client("BGSAVE") == ReplyError(
        "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE "
        "SCHEDULE in order to schedule a BGSAVE whenever possible."
    )
    assert client("BGSAVE", "SCHEDULE") == "Background saving scheduled"


def test_lastsave_is_a_unix_time(tmp_path: Path) -> None:
    client = AdminClient(data_dir=str(tmp_path))
    started = client("LASTSAVE")
    client.durability.save_job.last_save_s -= 100
    assert client("LASTSAVE") == started - 100
    client("SAVE")
    assert client("LASTSAVE") >= started


def test_in_a_transaction_both_are_scheduled() -> None:
    client = AdminClient()
    client("MULTI")
    client("BGSAVE")
    client("BGREWRITEAOF")
    assert client("EXEC") == [
        "Background saving scheduled",
        "Background append only file rewriting scheduled",
    ]
