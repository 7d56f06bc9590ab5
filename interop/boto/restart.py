"""A durable queue after its server was killed: fill runs before the kill, after runs afterwards."""

import tempfile
import json
import os

from checks import Rules, equal, true, within

fill = Rules()
after = Rules()

MEMORY = os.path.join(tempfile.gettempdir(), "restart.json")


def remember(**more):
    """Keep what the rules after the restart need in the working directory."""
    kept = recall()
    kept.update(more)
    with open(MEMORY, "w", encoding="utf-8") as f:
        json.dump(kept, f)


def recall():
    """Return what was kept."""
    if not os.path.exists(MEMORY):
        return {}
    with open(MEMORY, encoding="utf-8") as f:
        return json.load(f)


def url(w, name):
    """Return the URL of a queue, whose host and port may be others than before."""
    return w.sqs.get_queue_url(QueueName=name)["QueueUrl"]


@fill("messages are stored in a standard queue, one of them deleted and one in flight")
def _(w):
    q = w.sqs.create_queue(QueueName="kept", Attributes={"VisibilityTimeout": "2"}, tags={"a": "b"})["QueueUrl"]
    for i in range(30):
        w.send(q, f"m{i}", MessageAttributes={"n": {"DataType": "Number", "StringValue": str(i)}})
    w.delete(q, w.receive(q, count=1, wait=1)[0])
    w.receive(q, count=1, wait=1)


@fill("messages are stored in a FIFO queue, one of them deleted")
def _(w):
    q = w.sqs.create_queue(QueueName="kept.fifo", Attributes={"FifoQueue": "true", "ContentBasedDeduplication": "true"})["QueueUrl"]
    last = [w.send(q, f"m{i}", MessageGroupId="g")["SequenceNumber"] for i in range(5)][-1]
    w.delete(q, w.receive(q, count=1, wait=1)[0])
    remember(last=last)


@after("every acknowledged message is still there, and the deleted one is not")
def _(w):
    q = url(w, "kept")
    w.made.append(q)
    got = {}

    def drained():
        for m in w.receive(q, wait=1, MessageAttributeNames=["All"], VisibilityTimeout=60):
            equal(m["MessageAttributes"]["n"]["StringValue"], m["Body"][1:], "attribute")
            got[m["Body"]] = m
        return len(got) == 29

    within(10, "29 messages", drained)
    equal(w.sqs.list_queue_tags(QueueUrl=q)["Tags"], {"a": "b"}, "tags")
    equal(w.receive(q), [], "further messages")


@after("order, deduplication and sequence numbers of a FIFO queue go on")
def _(w):
    q = url(w, "kept.fifo")
    w.made.append(q)
    w.send(q, "m0", MessageGroupId="g")
    w.send(q, "m4", MessageGroupId="g")
    new = w.send(q, "new", MessageGroupId="g")["SequenceNumber"]
    true(new > recall()["last"], f"sequence number {new} after {recall()['last']}")
    equal(w.bodies(q, wait=2), ["m1", "m2", "m3", "m4", "new"], "order")
