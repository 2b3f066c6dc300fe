"""Carries the shards of a stage to Dask workers.

Shard numbers come in on stdin, one per line, and events go out on stdout, one JSON object per line. What to run and what to
retry is decided by renma. When stdin ends, so does this process, with everything that it started.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import shutil
import signal
import sys
import traceback
import uuid
from collections import Counter, deque
from collections.abc import Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

# The first sign of life, before imports that take seconds where the disk is slow.
print('{"event": "alive"}', flush=True)

import dask  # noqa: E402
import distributed  # noqa: E402
import psutil  # noqa: E402
from distributed.scheduler import KilledWorker  # noqa: E402

USAGE = 2
TRY_AGAIN = 75

# A worker that sends no heartbeat for this long is given up, and its shard runs elsewhere.
WORKER_TTL = "30s"

# A worker that only waits for its shard takes 6 % of a core with Dask's defaults, and 0.5 % with these.
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
}

# How often workers and running shards are counted, how long an answer may take, how often this process says that it is alive,
# and how long workers may be absent before a message and before the end. In seconds.
COUNT_EVERY = 2
ANSWER_WITHIN = 30
ALIVE_EVERY = 5
ABSENT_NOTE = 60
ABSENT_END = 600

# After this number of transient failures in a row, such as a full disk, a worker gets no more shards while there are others.
FAILURES_MAX = 2

# What must be the same on both sides for a function to travel.
PACKAGES = ("python", "dask", "distributed", "cloudpickle", "msgpack")


class Failure(Exception):
    """The end of the bridge, with renma's exit code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


def emit(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def run_shard(shard: int, job: dict[str, Any]) -> dict[str, object]:
    """Runs on a worker, which first proves that it sees the driver's files. It needs no module of renma's."""
    import hashlib
    import json
    import socket
    import subprocess
    import sys
    import time
    from importlib.metadata import version

    import distributed

    began = time.monotonic()
    worker: Any = distributed.get_worker()

    def ended(code: int | None, stderr: str, **more: object) -> dict[str, object]:
        seconds = round(time.monotonic() - began, 3)
        host = socket.gethostname()
        return {"worker": worker.address, "host": host, "seconds": seconds, "code": code, "stderr": stderr, **more}

    if getattr(worker, "renma_proof", None) != job["proof"]:
        here = [version("distributed"), *sys.version_info[:2]]
        if here != job["versions"]:
            return ended(2, f"it has distributed and Python {here}, the driver has {job['versions']}")
        for what, (path, expected) in job["proof"].items():
            try:
                with open(path, "rb") as file:
                    found = hashlib.sha256(file.read()).hexdigest()
            except OSError as error:
                return ended(65, f"it cannot read {what}, {path}: {error.strerror}\nshare the folder with this worker")
            if found != expected:
                reason = f"{what}, {path}, is {found[:12]} there and {expected[:12]} where the driver runs"
                return ended(65, f"{reason}\ngive this worker the same files")
        worker.renma_proof = job["proof"]
    options = ["--json", "--progress", "none", "--threads", "1"]
    arguments = [job["renma"], *options, "shard", "run", job["plan"], str(shard)]
    try:
        done = subprocess.run(arguments, cwd=job["folder"], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as error:
        return ended(65, f"it cannot start {job['renma']} in {job['folder']}: {error.strerror}")
    stderr = done.stderr[-4000:].decode(errors="replace")
    if done.returncode != 0:
        return ended(None if done.returncode < 0 else done.returncode, stderr)
    return ended(0, stderr, cpu_seconds=json.loads(done.stdout)["cpu_seconds"])


class Bridge:
    def __init__(self, client: Any, job: dict[str, Any], scratch: str) -> None:
        self.client = client
        self.job = job
        self.scratch = scratch
        self.prefix = f"renma-{uuid.uuid4().hex}-"
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.tasks: set[asyncio.Task[None]] = set()
        # Threads by worker, and failures in a row.
        self.workers: dict[str, int] = {}
        self.failures: Counter[str] = Counter()
        # Shards that Dask does not know yet; few are given to it at a time, so that they avoid workers that fail.
        self.pending: deque[int] = deque()
        # The shards that Dask has, where each may run if not anywhere, and the workers that have them.
        self.open: dict[int, Any] = {}
        self.allowed: dict[int, list[str]] = {}
        self.places: dict[int, str] = {}

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.note_end)

    def note_end(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if error is None or self.failure.done():
            return
        if isinstance(error, (OSError, asyncio.CancelledError, asyncio.TimeoutError)):
            error = Failure(TRY_AGAIN, "the scheduler is gone\nstart it again, then repeat the command to resume")
        self.failure.set_exception(error)

    async def read(self) -> None:
        """Starts every shard that stdin names."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            self.pending.append(int(line))
            self.submit()
        # The driver is gone, perhaps killed: nothing of it stays.
        end(self.scratch)

    def submit(self) -> None:
        """Gives Dask as many shards as keep its workers busy."""
        while self.pending and len(self.open) < 2 * sum(self.workers.values()):
            shard = self.pending.popleft()
            good = [worker for worker in self.workers if self.failures[worker] < FAILURES_MAX]
            if good and len(good) < len(self.workers):
                self.allowed[shard] = good
            key = f"{self.prefix}{uuid.uuid4().hex}-{shard}"
            where = self.allowed.get(shard)
            self.open[shard] = self.client.submit(run_shard, shard, self.job, key=key, pure=False, workers=where)
            self.start(self.follow(shard, self.open[shard]))

    async def follow(self, shard: int, future: Any) -> None:
        """Runs a shard once, as far as Dask lets it: after a lost worker of an own cluster Dask may run it again."""
        try:
            result = await future
        except KilledWorker as error:
            result = {"worker": error.last_worker.address, "code": None, "stderr": "the worker was lost"}
        except Exception as error:
            result = {"worker": None, "code": None, "stderr": f"Dask: {error!r}"}
        worker = result["worker"]
        place = self.places.pop(shard, worker)
        if place != worker and place not in await asyncio.wait_for(self.client.nthreads(), ANSWER_WITHIN):
            emit("moved", shard=shard, worker=place)
        del self.open[shard]
        self.allowed.pop(shard, None)
        if result["code"] == 0:
            del self.failures[worker]
        elif worker is not None and result["code"] in (TRY_AGAIN, None):
            self.failures[worker] += 1
            if self.failures[worker] == FAILURES_MAX and worker in self.workers:
                reason = str(result["stderr"]).strip()
                emit("note", text=f"{worker} gets no more shards while there are others: {reason}")
        emit("ended", shard=shard, **result)
        self.submit()

    async def count(self) -> None:
        """Says how many workers there are and how many shards run, and which shards lost their worker."""
        absent = 0
        while True:
            processing = await asyncio.wait_for(self.client.processing(), ANSWER_WITHIN)
            self.workers = await asyncio.wait_for(self.client.nthreads(), ANSWER_WITHIN)
            for shard, worker in [*self.places.items()]:
                if worker not in self.workers:
                    self.places.pop(shard, None)
                    emit("moved", shard=shard, worker=worker)
            running = 0
            for worker, keys in processing.items():
                shards = [int(key.rsplit("-", 1)[1]) for key in map(str, keys) if key.startswith(self.prefix)]
                self.places.update(dict.fromkeys(self.open.keys() & shards, worker))
                running += min(len(shards), self.workers.get(worker, 0))
            for shard, allowed in [*self.allowed.items()]:
                # Another shard of the list may end meanwhile.
                if self.workers.keys().isdisjoint(allowed) and shard in self.open:
                    await self.open[shard].cancel()
            emit("workers", count=sum(self.workers.values()), running=running)
            self.submit()
            absent = 0 if self.workers else absent + COUNT_EVERY
            if absent == ABSENT_NOTE:
                emit("note", text=f"no workers for {absent} s: start some, or wait until they are back")
            if absent >= ABSENT_END:
                raise Failure(TRY_AGAIN, f"no workers for {absent} s\nstart some, then repeat the command to resume")
            await asyncio.sleep(COUNT_EVERY)


def end(scratch: str) -> NoReturn:
    """Kills what this process has started, then removes what that has written, then kills itself."""
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    shutil.rmtree(scratch, ignore_errors=True)
    os.killpg(0, signal.SIGKILL)
    raise AssertionError("this process is one of its group")


async def say_alive() -> None:
    """A driver that hears nothing for half a minute gives this process up."""
    while True:
        emit("alive")
        await asyncio.sleep(ALIVE_EVERY)


async def check_versions(client: Any) -> None:
    """Workers that do not answer are checked when they run their first shard."""
    try:
        versions = await asyncio.wait_for(client.get_versions(), ANSWER_WITHIN)
    except asyncio.TimeoutError:
        return

    def of(side: Any) -> dict[str, str]:
        return {name: str(side["packages"].get(name)) for name in PACKAGES}

    sides = {"the scheduler": versions["scheduler"], **versions["workers"]}
    expected = of(versions["client"])
    for name, side in sides.items():
        if side and of(side) != expected:
            other = [f"{package} {version}" for package, version in of(side).items() if version != expected[package]]
            own = [f"{package} {expected[package]}" for package in PACKAGES if of(side)[package] != expected[package]]
            reason = f"{name} has {', '.join(other)}, and {sys.executable} has {', '.join(own)}"
            raise Failure(USAGE, f"{reason}\nname the Python of that cluster in RENMA_PYTHON")


def temporary_security() -> Any:
    """A certificate that only this process and its workers have: no other user of the machine can run programs in them."""
    try:
        return distributed.Security.temporary()
    except ImportError as error:
        remedy = "install cryptography in it, or remove the folder of this Python to have it made again"
        raise Failure(USAGE, f"{sys.executable} has no cryptography, which encrypts the cluster\n{remedy}") from error


async def connect(scheduler: str | None, workers: int, scratch: str) -> Any:
    address: Any = scheduler
    if scheduler is None:
        dask.config.set(
            {
                **QUIET,
                "distributed.scheduler.worker-ttl": WORKER_TTL,
                "distributed.scheduler.allowed-failures": 0,
                "distributed.scheduler.worker-saturation": 1.0,
                "temporary-directory": scratch,
                # Nobody looks at the pages of a scheduler or a worker.
                "distributed.scheduler.http.routes": [],
                "distributed.worker.http.routes": [],
            }
        )
        address = await distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,
            host="127.0.0.1",
            protocol="tls",
            security=temporary_security(),
            dashboard_address=None,
            scheduler_kwargs={"dashboard_address": "127.0.0.1:0"},
            local_directory=scratch,
            asynchronous=True,
        )
    try:
        # The timeout of a client is that of its connection; another program behind the port may say nothing.
        client = distributed.Client(address, asynchronous=True, timeout=ANSWER_WITHIN)
        await asyncio.wait_for(client, ANSWER_WITHIN)
    except (OSError, asyncio.TimeoutError) as error:
        reason = str(error) or f"no answer for {ANSWER_WITHIN} s"
        raise Failure(TRY_AGAIN, f"cannot reach the scheduler: {reason}\nstart it, then repeat the command") from error
    await check_versions(client)
    return client


def prove(files: dict[str, str]) -> dict[str, tuple[str, str]]:
    return {what: (path, hashlib.sha256(Path(path).read_bytes()).hexdigest()) for what, path in files.items()}


async def main() -> NoReturn:
    parser = argparse.ArgumentParser()
    for name in ("renma", "plan", "folder", "nonce", "scratch"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--scheduler")
    given = parser.parse_args()
    alive = asyncio.create_task(say_alive())
    client = await connect(given.scheduler, given.workers, given.scratch)
    files = {"the folder's mark": given.nonce, "the plan": given.plan, "renma": given.renma}
    versions = [version("distributed"), *sys.version_info[:2]]
    job = {"renma": given.renma, "plan": given.plan, "folder": given.folder, "versions": versions}
    bridge = Bridge(client, {**job, "proof": prove(files)}, given.scratch)
    bridge.start(bridge.read())
    bridge.start(bridge.count())
    await bridge.failure
    alive.cancel()
    raise AssertionError("the bridge ends with a failure only")


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except Failure as failure:
        emit("failed", code=failure.code, text=str(failure))
    except BaseException:
        traceback.print_exc()
    os.killpg(0, signal.SIGKILL)
