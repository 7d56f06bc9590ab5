"""FIFO queues: order, groups, deduplication, attempts."""

import hashlib
import threading
import time

from checks import Rules, equal, true, within

rules = Rules()


def put(w, url, body, group, **more):
    """Send a message whose body is its deduplication id."""
    more.setdefault("MessageDeduplicationId", body)
    return w.send(url, body, MessageGroupId=group, **more)


@rules("a FIFO queue shows its attributes and its suffix")
def _(w):
    url = w.queue(fifo=True)
    have = w.attributes(url)
    equal([have[n] for n in ("FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit")],
          ["true", "false", "queue", "perQueue"], "attributes")
    w.sqs.set_queue_attributes(QueueUrl=url, Attributes={"FifoQueue": "True"})
    w.refused("InvalidAttributeValue", w.sqs.set_queue_attributes, QueueUrl=url, Attributes={"FifoQueue": "false"})
    fast = w.queue(fifo=True, DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")
    equal(w.attributes(fast)["FifoThroughputLimit"], "perMessageGroupId", "limit")
    equal(w.sqs.get_queue_url(QueueName=url.rsplit("/", 1)[1])["QueueUrl"], url, "URL")


@rules("a receive takes a group in order before it takes the next")
def _(w):
    url = w.queue(fifo=True)
    for body, group in (("g1-1", "g1"), ("g2-1", "g2"), ("g1-2", "g1"), ("g1-3", "g1")):
        put(w, url, body, group)
    got = w.receive(url, wait=1)
    equal([m["Body"] for m in got], ["g1-1", "g1-2", "g1-3", "g2-1"], "order")
    have = got[0]["Attributes"]
    equal((have["MessageGroupId"], have["MessageDeduplicationId"]), ("g1", "g1-1"), "attributes")
    true(len(have["SequenceNumber"]) == 20 and have["SequenceNumber"].isdigit(), f"sequence number {have['SequenceNumber']}")


@rules("sequence numbers grow and are those the send answered")
def _(w):
    url = w.queue(fifo=True)
    sent = [put(w, url, f"m{i}", "g")["SequenceNumber"] for i in range(5)]
    equal(sent, sorted(set(sent)), "sequence numbers")
    equal([m["Attributes"]["SequenceNumber"] for m in w.receive(url, wait=1)], sent, "received")


@rules("a group with a message in flight is closed until that is deleted or comes back")
def _(w):
    url = w.queue(fifo=True)
    for body, group in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        put(w, url, body, group)
    first, = w.receive(url, count=1, wait=1)
    equal(first["Body"], "a1", "first")
    equal(w.bodies(url), ["b1"], "the other group")
    equal(w.bodies(url), [], "both groups closed")
    w.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
    again, = w.receive(url, count=1, wait=1)
    equal(again["Body"], "a1", "handed back, so first again")
    w.delete(url, again)
    equal(w.bodies(url, wait=1), ["a2"], "after the delete")


@rules("a group opens at the message handed back, and stops before one still in flight")
def _(w):
    url = w.queue(fifo=True)
    for i in range(3):
        put(w, url, f"m{i}", "g")
    first, second = w.receive(url, count=2, wait=1)
    w.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
    equal(w.bodies(url, wait=1), ["m0"], "received again")
    w.delete(url, second)
    equal(w.bodies(url), [], "received while the first is in flight")


@rules("a group opens in order after a visibility timeout")
def _(w):
    url = w.queue(fifo=True)
    for i in range(3):
        put(w, url, f"m{i}", "g")
    equal(w.bodies(url, count=2, wait=1, VisibilityTimeout=1), ["m0", "m1"], "first")
    equal(w.bodies(url, wait=5), ["m0", "m1", "m2"], "after the timeout")


@rules("ten consumers see every group in order")
def _(w):
    url = w.queue(fifo=True)
    for start in range(0, 100, 10):
        w.sqs.send_message_batch(QueueUrl=url, Entries=[
            {"Id": str(i), "MessageBody": str(i), "MessageGroupId": f"g{i % 7}", "MessageDeduplicationId": str(i)} for i in range(start, start + 10)])
    seen, lock, end = [], threading.Lock(), time.monotonic() + 30

    def consume():
        while len(seen) < 100 and time.monotonic() < end:
            for m in w.receive(url, count=3, wait=1):
                with lock:
                    seen.append(int(m["Body"]))
                w.delete(url, m)

    threads = [threading.Thread(target=consume) for _ in range(10)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(40)
    for group in range(7):
        order = [n for n in seen if n % 7 == group]
        equal(order, sorted(n for n in range(100) if n % 7 == group), f"order of group {group}")


@rules("a duplicate within five minutes is acknowledged and not stored, even after a delete")
def _(w):
    url = w.queue(fifo=True)
    first = put(w, url, "x", "g", MessageDeduplicationId="same")
    second = put(w, url, "y", "g", MessageDeduplicationId="same")
    equal(second["MessageId"], first["MessageId"], "id of the duplicate")
    got = w.receive(url, wait=1)
    equal([m["Body"] for m in got], ["x"], "stored")
    w.delete(url, got[0])
    put(w, url, "z", "g", MessageDeduplicationId="same")
    equal(w.receive(url), [], "after the delete")
    other = put(w, url, "other", "g", MessageDeduplicationId="another")
    true(other["MessageId"] != first["MessageId"], "another deduplication id gave the same message")


@rules("content-based deduplication knows a body by its hash")
def _(w):
    url = w.queue(fifo=True, ContentBasedDeduplication="true")
    for body in ("same", "same", "other"):
        w.send(url, body, MessageGroupId="g")
    got = w.receive(url, wait=1)
    equal([m["Body"] for m in got], ["same", "other"], "stored")
    equal(got[0]["Attributes"]["MessageDeduplicationId"], hashlib.sha256(b"same").hexdigest(), "deduplication id")


@rules("with scope messageGroup the same id counts once for each group")
def _(w):
    url = w.queue(fifo=True, DeduplicationScope="messageGroup")
    for group in ("a", "b", "a"):
        put(w, url, f"in {group}", group, MessageDeduplicationId="same")
    equal(sorted(w.bodies(url, wait=1)), ["in a", "in b"], "stored")


@rules("the same ReceiveRequestAttemptId returns the same messages with the same handles")
def _(w):
    url = w.queue(fifo=True)
    for i in range(2):
        put(w, url, f"m{i}", "g")
    first = w.receive(url, wait=1, ReceiveRequestAttemptId="try-1")
    again = w.receive(url, wait=1, ReceiveRequestAttemptId="try-1")
    equal([m["Body"] for m in again], ["m0", "m1"], "received again")
    equal([m["ReceiptHandle"] for m in again], [m["ReceiptHandle"] for m in first], "handles")
    equal(w.receive(url, ReceiveRequestAttemptId="try-2"), [], "another attempt")
    w.refused("InvalidParameterValue", w.sqs.receive_message, QueueUrl=w.queue(), ReceiveRequestAttemptId="x")


@rules("sends that a FIFO queue cannot take are refused by their codes")
def _(w):
    url = w.queue(fifo=True)
    w.refused("MissingParameter", w.send, url=url, body="x", MessageDeduplicationId="d")
    w.refused("InvalidParameterValue", w.send, url=url, body="x", MessageGroupId="g")
    w.refused("InvalidParameterValue", put, w=w, url=url, body="x", group="g", DelaySeconds=1)
    w.refused("InvalidParameterValue", put, w=w, url=url, body="x", group="a b")
    w.refused("InvalidParameterValue", put, w=w, url=url, body="x", group="g" * 129)
    w.refused("InvalidParameterValue", put, w=w, url=url, body="x", group="g", MessageDeduplicationId="")
    put(w, url, "zero", "g", DelaySeconds=0)
    equal(w.bodies(url, wait=1), ["zero"], "with a delay of zero")


@rules("a batch keeps order and tells sequence numbers; one without groups is refused")
def _(w):
    url = w.queue(fifo=True, ContentBasedDeduplication="true")
    answer = w.sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": str(i), "MessageBody": f"m{i}", "MessageGroupId": "g"} for i in range(10)])
    numbers = {row["Id"]: row["SequenceNumber"] for row in answer["Successful"]}
    equal(sorted(numbers, key=numbers.get), [str(i) for i in range(10)], "order of sequence numbers")
    equal(w.bodies(url, wait=1), [f"m{i}" for i in range(10)], "order")
    try:
        answer = w.sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": "a", "MessageBody": "x"}])
    except w.sqs.exceptions.ClientError as error:
        equal(error.response["Error"]["Code"], "InvalidParameterValue", "code")
    else:
        raise AssertionError(f"accepted: {answer}")


@rules("a handle that has expired neither deletes nor prolongs")
def _(w):
    url = w.queue(fifo=True)
    put(w, url, "x", "g")
    got, = w.receive(url, wait=1, VisibilityTimeout=1)
    within(4, "the end of the hold", lambda: w.counts(url) == (1, 0, 0))
    text = w.refused("InvalidParameterValue", w.sqs.delete_message, QueueUrl=url, ReceiptHandle=got["ReceiptHandle"])
    true("expired" in text, f"text {text}")
    equal(w.bodies(url, wait=1), ["x"], "still there")


@rules("a FIFO queue needs a FIFO dead-letter queue, and moves poison there")
def _(w):
    standard, dead = w.queue(), w.queue(fifo=True)
    redrive = lambda url: f'{{"deadLetterTargetArn":"{w.arn(url)}","maxReceiveCount":1}}'
    try:
        w.queue(fifo=True, RedrivePolicy=redrive(standard))
        raise AssertionError("a standard queue became the dead-letter queue of a FIFO queue")
    except w.sqs.exceptions.ClientError:
        pass
    url = w.queue(fifo=True, VisibilityTimeout="0", RedrivePolicy=redrive(dead))
    put(w, url, "poison", "g")
    put(w, url, "next", "g")
    equal(w.bodies(url, count=1, wait=1), ["poison"], "first receive")
    equal(w.bodies(url, count=1, wait=1), ["next"], "second receive")
    got, = within(3, "the dead message", lambda: w.receive(dead))
    equal((got["Body"], got["Attributes"]["MessageGroupId"], got["Attributes"]["DeadLetterQueueSourceArn"]), ("poison", "g", w.arn(url)), "dead message")
