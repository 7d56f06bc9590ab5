"""Celery over the SQS transport: a worker with two processes, retries, countdowns, and a worker that is killed."""

import collections
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import boto3
import celery

import checks
from checks import Rules, equal, true, within

rules = Rules()


class Bench:
    """A queue, a log of what tasks did, and workers."""

    def __init__(self, folder):
        os.environ.update(TASK_LOG=os.path.join(folder, "tasks.log"), TASK_QUEUE=f"celery{os.getpid()}")
        import celery_tasks  # it reads the environment
        self.tasks = celery_tasks
        self.workers = []

    def start(self):
        """Start a worker in a process group of its own."""
        worker = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "celery", "--quiet", "-A", "celery_tasks", "worker", "--concurrency", "2", "--loglevel", "WARNING",
             "--without-gossip", "--without-mingle"], stdout=sys.stderr, start_new_session=True)
        self.workers.append(worker)
        return worker

    def send(self, task, *args):
        """Send a task. A server that does not answer for half a minute is ended such that it prints all its stacks."""
        watch = threading.Timer(30, os.kill, (int(os.environ["SERVER_PID"]), signal.SIGQUIT))
        watch.start()
        try:
            task.delay(*args)
        finally:
            watch.cancel()

    def hold(self, seconds):
        """Set the visibility timeout of messages that are received from now on."""
        sqs = boto3.client("sqs", endpoint_url=os.environ["AWS_ENDPOINT_URL_SQS"])
        url = sqs.get_queue_url(QueueName=os.environ["TASK_QUEUE"])["QueueUrl"]
        sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": str(seconds)})

    def lines(self, word):
        """Return the arguments of every line that begins with word."""
        try:
            with open(os.environ["TASK_LOG"], encoding="utf-8") as f:
                return [line.split()[1:] for line in f if line.startswith(word + " ")]
        except FileNotFoundError:
            return []

    def close(self):
        """End every worker and its processes."""
        for worker in self.workers:
            try:
                os.killpg(worker.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            worker.wait()


@rules("300 tasks, sent over 30 s, are done, each once")
def _(bench):
    bench.start()
    done = {i: [] for i in range(300)}
    for i in done:
        bench.send(bench.tasks.work, i)
        time.sleep(30 / 300)
    sent = time.monotonic()
    within(60, "300 tasks", lambda: len(bench.lines("work")) >= 300)
    for number, at in bench.lines("work"):
        done[int(number)].append(f"{float(at) - sent:+.1f} s")
    equal({i: times for i, times in done.items() if len(times) != 1}, {}, "tasks not done once, and when, from the last one sent")


@rules("tasks that fail are retried, and a countdown waits")
def _(bench):
    for i in range(20):
        bench.send(bench.tasks.flaky, i)
    bench.tasks.work.apply_async([1000], countdown=2)
    within(100, "20 second attempts", lambda: sum(r == "1" for _, r in bench.lines("flaky")) == 20)
    within(20, "the task with a countdown", lambda: any(n == "1000" for n, _ in bench.lines("work")))
    equal(collections.Counter(r for _, r in bench.lines("flaky")), {"0": 20, "1": 20}, "attempts")


@rules("tasks that a killed worker held are done by another after the visibility timeout")
def _(bench):
    bench.hold(5)
    for i in range(6):
        bench.send(bench.tasks.slow, i)
    within(20, "a task begun", lambda: bench.lines("begun"))
    os.killpg(bench.workers[0].pid, signal.SIGKILL)
    true(len(bench.lines("slow")) < 6, "all were done before the worker was killed")
    bench.start()
    within(60, "six tasks", lambda: {n for n, in bench.lines("slow")} == set("012345"))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(folder)
        try:
            failed = checks.run(f"celery {celery.__version__}", bench, rules.rows)
        finally:
            bench.close()
    sys.stdout.flush()
    os._exit(1 if failed else 0)
