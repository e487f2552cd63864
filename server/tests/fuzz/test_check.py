"""``forebay check`` on absurd paths and files: one sentence, never a traceback.

CVE-2025-27151: redis-check-aof wrote beyond a buffer when the path in a manifest was long.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

import forebay
from forebay.cli.main import main
from server.tests.support.aof_files import command, seal_all
from testkit.engine_client import EngineClient
from testkit.rdb_files import saved

DAMAGES = 400 if forebay.compiled() else 80
UNITS = seal_all(*(command("XADD", "s", f"{i}-1", "f", f"value {i}") for i in range(5, 40)))
MANIFEST = b"file a.1.base.rdb seq 1 type b\nfile a.1.incr.aof seq 1 type i\n"


def aof(folder: Path, manifest: bytes = MANIFEST) -> Path:
    """A small AOF of a base and an increment."""
    client = EngineClient()
    client("XADD s 1-1 f v")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "a.1.base.rdb").write_bytes(saved(client.engine.keyspace))
    (folder / "a.1.incr.aof").write_bytes(UNITS)
    (folder / "a.manifest").write_bytes(manifest)
    return folder


def checked(path: Path | str, capsys: pytest.CaptureFixture[str]) -> int:
    code = main(["check", str(path)])
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert (code == 0) or out or err
    return code


@pytest.mark.parametrize("length", [1000, 2000, 3900])
def test_a_path_may_be_as_long_as_the_system_lets_it(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path
    while len(str(folder)) < length - 210:
        folder /= "d" * 200
    assert checked(aof(folder / "aof"), capsys) == 0


@pytest.mark.parametrize("length", [4095, 4096, 5000, 70_000])
def test_a_path_beyond_that_is_one_sentence(
    length: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked("/" + "/".join(["d" * 200] * (length // 201)), capsys) in (1, 2)
    assert checked("/tmp/" + "d" * length, capsys) in (1, 2)


@pytest.mark.parametrize("length", [200, 255, 256, 1000, 1100, 100_000])
@pytest.mark.parametrize("quote", [b"", b'"'])
def test_a_manifest_that_names_long_files_is_judged(
    length: int, quote: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = quote + b"n" * length + quote
    line = b"file %b seq 1 type i\n" % name
    assert checked(aof(tmp_path / "aof", MANIFEST + line), capsys) == 1


def test_damaged_files_are_judged_whatever_the_damage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dice, codes = Random(7), set()
    for number in range(DAMAGES):
        folder = aof(tmp_path / "aof")
        victim = dice.choice(sorted(folder.iterdir()))
        data = bytearray(victim.read_bytes())
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(data) + 1)
            data[at : at + dice.randrange(9)] = dice.randbytes(dice.randrange(9))
        victim.write_bytes(data)
        codes.add(checked(folder if number % 3 else victim, capsys))
    assert codes <= {0, 1} and 1 in codes


def test_names_that_are_no_text_are_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = os.fsencode(tmp_path) + b"/\xff\xfe"
    aof(Path(os.fsdecode(folder)))
    assert checked(os.fsdecode(folder), capsys) == 0
