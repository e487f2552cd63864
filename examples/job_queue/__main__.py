"""A job queue on a stream: a failed job is tried again, then put aside, fixed and sent back.

    publish --> pictures --> worker --> done
                   ^           | fails three times, or does not fit its type
                   |           v
                redrive <-- pictures:dead, each letter with its error

Everything about a job is on the server, so this program may be killed at any point: the next worker
continues.  `forebay work` runs the same app in several processes, and `forebay dead` shows and
redrives letters from a shell.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from examples.server import connect, url
from forebay_workers import App, Hooks, Message, Retry

STREAM, GROUP = "example:pictures", "resizers"
FORMATS = {"png", "jpeg"}


@dataclass
class Resize:
    """A job: an object whose attributes are the fields of an entry."""

    picture: str
    width: int


class Progress(Hooks):
    """Reports the results of jobs, and knows when the expected number is settled."""

    def __init__(self) -> None:
        self._left = 0
        self.all_settled = asyncio.Event()

    def expect(self, count: int) -> None:
        """Wait for this many from now on."""
        self._left = count
        self.all_settled.clear()

    def failed(self, message: Message, error: BaseException, pause_s: float) -> None:
        print(f"  attempt {message.starts} failed: {error}")

    def handled(self, message: Message, seconds: float) -> None:
        self._settle()

    def buried(self, message: Message, error: BaseException) -> None:
        print(f"  put aside: {type(error).__name__}")
        self._settle()

    def _settle(self) -> None:
        self._left -= 1
        if self._left == 0:
            self.all_settled.set()


progress = Progress()
app = App(url(), group=GROUP, hooks=[progress])


@app.on(STREAM, retry=Retry(3, backoff=(0.05, 0.1)), concurrency=1)
async def resize(job: Resize, message: Message) -> None:
    """The work.  The disk is full at the first attempt of cat.png."""
    kind = job.picture.rpartition(".")[2]
    if job.picture == "cat.png" and message.attempt == 1:
        raise OSError("no space left for cat.png")
    if kind not in FORMATS:
        raise ValueError(f"{job.picture} is of an unknown format")
    print(f"  {job.picture} is {job.width} wide")


async def work_off(count: int) -> None:
    """Run a worker until this many jobs are settled; a real one runs until SIGTERM."""
    progress.expect(count)
    worker = app.worker()
    running = asyncio.create_task(worker.run())
    settled = asyncio.create_task(progress.all_settled.wait())
    await asyncio.wait([running, settled], return_when=asyncio.FIRST_COMPLETED)
    settled.cancel()
    worker.stop()
    await running


async def main() -> None:
    """Publish, work, look at the letters, fix, redrive."""
    # Hooks print it here in their own words.
    logging.getLogger("forebay_workers").setLevel(logging.CRITICAL)
    client = connect(STREAM, f"{STREAM}:dead")
    async with app:
        jobs = [Resize("ant.png", 320), Resize("bee.tiff", 640), Resize("cat.png", 80)]
        await app.publish_many(STREAM, [*jobs, {"picture": "dog.png", "width": "wide"}])
        print("four jobs, one worker:")
        await work_off(4)

        letters = app.dead_letters(STREAM)
        print("dead letters:")
        async for letter in letters.letters():
            print(f"  {letter.error} ({letter.deliveries} attempts)")

        FORMATS.add("tiff")
        sent = await letters.redrive(lambda letter: letter.error.startswith("ValueError"))
        dropped = await letters.drop(lambda letter: letter.error.startswith("MisfitError"))
        print(f"the code knows tiff now: {sent} sent back, {dropped} dropped")
        await work_off(sent)
    pending = client.xpending(STREAM, GROUP)["pending"]
    print(f"{pending} pending, {client.xlen(f'{STREAM}:dead')} dead")


if __name__ == "__main__":
    asyncio.run(main())
