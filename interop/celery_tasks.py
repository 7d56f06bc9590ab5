"""The Celery application that celery_sqs.py drives; every task appends a line to the file TASK_LOG."""

import os
import time

import celery

from kombu_sqs import broker, options

app = celery.Celery("interop", broker=broker())
app.conf.update(
    broker_transport_options=options(visibility_timeout=30),
    task_default_queue=os.environ["TASK_QUEUE"],
    task_acks_late=True,
    worker_prefetch_multiplier=4,
    worker_enable_remote_control=False,
    broker_connection_retry_on_startup=True,
)


def note(*words):
    """Append a line, whole, whatever other processes do."""
    with open(os.environ["TASK_LOG"], "a", encoding="utf-8") as f:
        f.write(" ".join(map(str, words)) + "\n")


@app.task
def work(number):
    """Work for a moment. The line has the time, which tells a message that was sent twice from one that came again."""
    time.sleep(0.02)
    note("work", number, f"{time.monotonic():.1f}")


@app.task(bind=True, max_retries=3)
def flaky(self, number):
    """Fail the first time."""
    note("flaky", number, self.request.retries)
    if self.request.retries == 0:
        raise self.retry(countdown=1)


@app.task
def slow(number):
    """Work for a while."""
    note("begun", number)
    time.sleep(2)
    note("slow", number)
