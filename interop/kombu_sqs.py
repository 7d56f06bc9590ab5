"""Kombu's SQS transport: a few hundred messages, long polls, and messages that come back."""

import os
import socket
import sys
import threading
import time
from urllib.parse import quote, urlsplit

import kombu

import checks
from checks import Rules, equal

rules = Rules()


def broker():
    """Return the URL of the endpoint as Kombu writes it, with the keys in it."""
    at = urlsplit(os.environ["AWS_ENDPOINT_URL_SQS"])
    key, secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
    return f"sqs://{quote(key, safe='')}:{quote(secret, safe='')}@{at.hostname}:{at.port}"


def options(**more):
    """Return transport options for the local endpoint."""
    return {"region": os.environ["AWS_REGION"], "is_secure": False, "wait_time_seconds": 2, "polling_interval": 0.1, "visibility_timeout": 300, **more}


def connect(**more):
    """Return a connection to the endpoint."""
    return kombu.Connection(broker(), transport_options=options(**more))


class Desk:
    """Unused names of queues."""

    def name(self, what):
        return f"k{os.getpid()}-{what}"


def consume(connection, queue, total, seconds, take):
    """Give messages to take until it accepted so many."""
    done = []

    def on_message(message):
        if take(message):
            done.append(message.payload)

    with connection.Consumer(queue, on_message=on_message, prefetch_count=20, accept=["json"]):
        end = time.monotonic() + seconds
        while len(done) < total and time.monotonic() < end:
            try:
                connection.drain_events(timeout=2)
            except socket.timeout:
                pass
    return done


def acknowledge(message):
    """Accept a message."""
    message.ack()
    return True


@rules("300 messages, sent over 20 s, are consumed, each once")
def _(desk):
    queue = kombu.Queue(desk.name("work"), routing_key=desk.name("work"))

    def produce():
        with connect() as other:
            producer = other.Producer(serializer="json")
            for i in range(300):
                producer.publish({"number": i, "text": "hé <&>"}, routing_key=queue.routing_key, declare=[queue])
                time.sleep(20 / 300)

    with connect() as connection:
        producing = threading.Thread(target=produce)
        producing.start()
        done = consume(connection, queue, 300, 60, acknowledge)
        producing.join()
        equal(sorted(m["number"] for m in done), list(range(300)), "numbers")
        equal({m["text"] for m in done}, {"hé <&>"}, "texts")
        equal(connection.default_channel._size(queue.name), 0, "left")


@rules("a consumer that waits gets what is sent later")
def _(desk):
    queue = kombu.Queue(desk.name("later"), routing_key=desk.name("later"))
    with connect() as connection, connect() as other:
        queue(connection).declare()
        producer = other.Producer(serializer="json")
        start = time.monotonic()
        empty = consume(connection, queue, 1, 5, acknowledge)
        equal((empty, time.monotonic() - start >= 5), ([], True), "received from an empty queue")
        producer.publish({"n": 1}, routing_key=queue.routing_key)
        equal(consume(connection, queue, 1, 10, acknowledge), [{"n": 1}], "received")


@rules("messages that are requeued or not acknowledged come again, and others do not")
def _(desk):
    queue = kombu.Queue(desk.name("again"), routing_key=desk.name("again"))
    with connect(visibility_timeout=3) as connection:
        producer = connection.Producer(serializer="json")
        for what in ("ack", "requeue", "forget"):
            producer.publish({"what": what}, routing_key=queue.routing_key, declare=[queue])
        seen = {}

        def take(message):
            what = message.payload["what"]
            seen[what] = seen.get(what, 0) + 1
            if what == "forget" and seen[what] == 1:
                return False  # and its visibility timeout brings it back
            getattr(message, what if seen[what] == 1 else "ack")()
            return seen[what] == 2

        done = consume(connection, queue, 2, 30, take)
        equal(sorted(m["what"] for m in done), ["forget", "requeue"], "came again")
        equal(seen, {"ack": 1, "requeue": 2, "forget": 2}, "deliveries")
        equal(connection.default_channel._size(queue.name), 0, "left")


@rules("a FIFO queue keeps the order")
def _(desk):
    name = desk.name("order") + ".fifo"
    queue = kombu.Queue(name, routing_key=name)
    with connect() as connection:
        producer = connection.Producer(serializer="json")
        for i in range(20):
            producer.publish({"n": i}, routing_key=name, declare=[queue], MessageGroupId="g", MessageDeduplicationId=str(i))
        done = consume(connection, queue, 20, 30, acknowledge)
        equal([m["n"] for m in done], list(range(20)), "order")


@rules("a purge empties the queue")
def _(desk):
    queue = kombu.Queue(desk.name("purge"), routing_key=desk.name("purge"))
    with connect() as connection:
        producer = connection.Producer(serializer="json")
        for i in range(15):
            producer.publish({"n": i}, routing_key=queue.routing_key, declare=[queue])
        bound = queue(connection.default_channel)
        bound.purge()
        equal(connection.default_channel._size(queue.name), 0, "left")
        bound.delete()


if __name__ == "__main__":
    failed = checks.run(f"kombu {kombu.__version__}", Desk(), rules.rows, together=5)
    sys.stdout.flush()
    os._exit(1 if failed else 0)  # connections of another thread would keep the process
