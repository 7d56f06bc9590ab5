"""Messages of standard queues: bodies, attributes, visibility, delays and polls."""

import threading
import time

from boto.world import attributes_md5, connect, md5
from checks import Rules, equal, true, within

rules = Rules()

TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793"

# Texts that a careless encoder of JSON, XML or forms changes.
BODIES = [
    "plain", " leading and trailing ", "line\nfeed", "carriage\rreturn", "both\r\nof them", "tab\there", "<a b=\"c\">&amp;'</a>", "]]>",
    "a=b&c=d%20+e", "{\"json\": [1, null]}", "hé ü €", "日本語", "\U0001F600 \U00010000", "\u2028\u2029\u0085", "\ufffd\ud7ff\ue000", "\\u0041 \\n", "+" * 10,
    "%", "x" * 70_000,
]


@rules("bodies come back as they were sent, whatever is in them, with their checksums")
def _(w):
    url = w.queue()
    for body in BODIES:
        sent = w.send(url, body)
        equal(sent["MD5OfMessageBody"], md5(body), f"checksum of {body[:30]!r} on send")
        true("SequenceNumber" not in sent, "a standard queue gave a sequence number")
        got, = w.receive(url, wait=1)
        equal(got["Body"], body, "body")
        equal((got["MessageId"], got["MD5OfBody"]), (sent["MessageId"], md5(body)), "id and checksum")
        w.delete(url, got)


@rules("bodies that are empty, too long or not XML text are refused")
def _(w):
    url = w.queue()
    small = w.queue(MaximumMessageSize="1024")
    for bad in ("\x00", "a\x0bb", "\x1f", "\ufffe"):
        w.refused("InvalidMessageContents", w.send, url=url, body=bad)
    w.refused("MissingParameter", w.send, url=url, body="")
    w.send(small, "x" * 1024)
    w.refused("InvalidParameterValue", w.send, url=small, body="x" * 1025)
    w.refused("InvalidParameterValue", w.send, url=small, body="x" * 1020, MessageAttributes={"a": {"DataType": "String", "StringValue": "v"}})


@rules("a message of 1 MiB is accepted and a byte more is not")
def _(w):
    url = w.queue()
    body = "é" * (1 << 19)
    w.send(url, body)
    got, = w.receive(url, wait=1)
    equal(got["MD5OfBody"], md5(body), "checksum")
    w.refused("InvalidParameterValue", w.send, url=url, body=body + "x")


ATTRIBUTES = {
    "text": {"DataType": "String", "StringValue": "a <b> & \r\n ü"},
    "number": {"DataType": "Number", "StringValue": "-12.5e3"},
    "label.count": {"DataType": "Number.int", "StringValue": "7"},
    "label.kind": {"DataType": "String.json", "StringValue": "{}"},
    "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
    "bytes.png": {"DataType": "Binary.png", "BinaryValue": b"\x89PNG"},
}


@rules("message attributes of every type come back, with a checksum over those returned")
def _(w):
    url = w.queue(VisibilityTimeout="0")
    sent = w.send(url, "x", MessageAttributes=ATTRIBUTES)
    equal(sent["MD5OfMessageAttributes"], attributes_md5(ATTRIBUTES), "checksum on send")
    for selectors, want in (
            (["All"], sorted(ATTRIBUTES)), ([".*"], sorted(ATTRIBUTES)), (["text"], ["text"]), (["label.*"], ["label.count", "label.kind"]),
            (["by.*"], ["bytes", "bytes.png"]), (["*"], sorted(ATTRIBUTES)),
            (["bytes", "absent"], ["bytes"]), (["absent"], []), ([], [])):
        got, = w.receive(url, wait=1, MessageAttributeNames=selectors)
        found = got.get("MessageAttributes", {})
        equal(sorted(found), want, f"attributes for {selectors}")
        for name in found:
            equal(found[name], ATTRIBUTES[name], name)
        equal(got.get("MD5OfMessageAttributes"), attributes_md5(found) if found else None, f"checksum for {selectors}")


@rules("message attributes that SQS would refuse are refused")
def _(w):
    url = w.queue()
    text = {"DataType": "String", "StringValue": "v"}
    for name, value in (
            ("AWS.x", text), ("amazon.x", text), ("a..b", text), (".a", text), ("a b", text), ("x" * 257, text), ("a", {"DataType": "String", "StringValue": ""}),
            ("a", {"DataType": "Text", "StringValue": "v"}), ("a", {"DataType": "Number", "StringValue": "seven"}),
            ("a", {"DataType": "String"}), ("a", {"DataType": "Binary", "BinaryValue": b""})):
        try:
            w.refused("InvalidParameterValue", w.send, url=url, body="x", MessageAttributes={name: value})
        except AssertionError as error:
            raise AssertionError(f"{name[:20]} {value}: {error}") from error
    w.refused("InvalidParameterValue", w.send, url=url, body="x", MessageAttributes={f"a{i}": text for i in range(11)})


@rules("system attributes tell sender, times, count, group and trace")
def _(w):
    url = w.queue()
    trace = {"AWSTraceHeader": {"DataType": "String", "StringValue": TRACE}}
    sent = w.send(url, "x", MessageSystemAttributes=trace, MessageGroupId="tenant-1")
    equal(sent["MD5OfMessageSystemAttributes"], "62a56dd927315f2b2e12832b84617ea5", "checksum of system attributes")
    now = time.time() * 1000
    got, = w.receive(url, wait=1)
    have = got["Attributes"]
    equal((have["AWSTraceHeader"], have["MessageGroupId"], have["ApproximateReceiveCount"]), (TRACE, "tenant-1", "1"), "attributes")
    true(have["SenderId"], "no SenderId")
    for name in ("SentTimestamp", "ApproximateFirstReceiveTimestamp"):
        true(abs(int(have[name]) - now) < 10_000, f"{name} {have[name]}, and it is {now:.0f} ms")
    w.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=got["ReceiptHandle"], VisibilityTimeout=0)
    again, = w.receive(url, wait=1, AttributeNames=["ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp"])
    equal(again["Attributes"], {"ApproximateReceiveCount": "2", "ApproximateFirstReceiveTimestamp": have["ApproximateFirstReceiveTimestamp"]}, "asked for")
    w.refused("InvalidParameterValue", w.send, url=url, body="x", MessageSystemAttributes={"AWSTraceHeader": {"DataType": "Number", "StringValue": "1"}})


@rules("MessageSystemAttributeNames selects as AttributeNames does", protocol="json")
def _(w):
    url = w.queue()
    w.send(url, "x")
    message, = w.sqs.receive_message(QueueUrl=url, MessageSystemAttributeNames=["SentTimestamp"], WaitTimeSeconds=1)["Messages"]
    equal(list(message["Attributes"]), ["SentTimestamp"], "names")


@rules("a standard queue refuses a deduplication id")
def _(w):
    w.refused("InvalidParameterValue", w.send, url=w.queue(), body="x", MessageDeduplicationId="d")


@rules("a received message is hidden until its visibility timeout, then comes again with a new handle")
def _(w):
    url = w.queue()
    w.send(url, "x")
    first, = w.receive(url, wait=1, VisibilityTimeout=1)
    start = time.monotonic()
    equal(w.counts(url), (0, 1, 0), "counts while in flight")
    equal(w.receive(url), [], "received while in flight")
    second, = w.receive(url, wait=5)
    true(0.7 < time.monotonic() - start < 3, f"came back after {time.monotonic() - start:.1f} s, want 1")
    true(second["ReceiptHandle"] != first["ReceiptHandle"], "the handle is the same")
    equal(second["Attributes"]["ApproximateReceiveCount"], "2", "receive count")


@rules("ChangeMessageVisibility extends, shortens and ends the hold, within twelve hours")
def _(w):
    url = w.queue(VisibilityTimeout="1")
    w.send(url, "x")
    got, = w.receive(url, wait=1)
    change = lambda seconds: w.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=got["ReceiptHandle"], VisibilityTimeout=seconds)
    change(30)
    time.sleep(1.4)
    equal(w.receive(url), [], "received though extended")
    w.refused("InvalidParameterValue", change, seconds=43_201)
    w.refused("InvalidParameterValue", change, seconds=-1)
    change(0)
    got, = w.receive(url, wait=2)
    w.delete(url, got)


@rules("a handle of an earlier receive still changes the visibility of the message")
def _(w):
    url = w.queue()
    w.send(url, "x")
    first, = w.receive(url, wait=1, VisibilityTimeout=0)
    equal(len(w.receive(url, VisibilityTimeout=600)), 1, "received again")
    w.sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=first["ReceiptHandle"], VisibilityTimeout=0)
    equal(w.bodies(url), ["x"], "received a third time")


@rules("the header of X-Ray becomes the trace of the message")
def _(w):
    url = w.queue()
    client = connect()
    client.meta.events.register("before-send.sqs.SendMessage", lambda request, **_: request.headers.update({"X-Amzn-Trace-Id": TRACE}))
    client.send_message(QueueUrl=url, MessageBody="x")
    got, = w.receive(url, wait=1)
    equal(got["Attributes"]["AWSTraceHeader"], TRACE, "trace")


@rules("deleting twice succeeds, and a handle that nobody gave is ReceiptHandleIsInvalid")
def _(w):
    url = w.queue()
    w.send(url, "x")
    got, = w.receive(url, wait=1)
    w.delete(url, got)
    w.delete(url, got)
    equal(w.counts(url), (0, 0, 0), "counts")
    w.refused("ReceiptHandleIsInvalid", w.sqs.delete_message, QueueUrl=url, ReceiptHandle="forged")
    w.refused("ReceiptHandleIsInvalid", w.sqs.change_message_visibility, QueueUrl=url, ReceiptHandle="forged", VisibilityTimeout=1)


@rules("a message may be deleted by its handle after its visibility timeout")
def _(w):
    url = w.queue()
    w.send(url, "x")
    got, = w.receive(url, wait=1, VisibilityTimeout=0)
    w.delete(url, got)
    equal(w.counts(url), (0, 0, 0), "counts")


@rules("a message or a queue can delay, and the message counts as delayed")
def _(w):
    url, slow = w.queue(), w.queue(DelaySeconds="1")
    w.send(url, "later", DelaySeconds=1)
    w.send(slow, "queue delay")
    w.send(slow, "at once", DelaySeconds=0)
    equal(w.counts(url), (0, 0, 1), "counts")
    equal(w.bodies(slow), ["at once"], "received before the delay")
    equal(w.receive(url), [], "received before the delay")
    start = time.monotonic()
    equal(w.bodies(url, wait=5), ["later"], "after the delay")
    true(time.monotonic() - start < 3, "came late")
    equal(w.bodies(slow, wait=5), ["queue delay"], "after the delay of the queue")
    w.refused("InvalidParameterValue", w.send, url=url, body="x", DelaySeconds=901)


@rules("a long poll waits for its time and wakes when a message is sent")
def _(w):
    url, patient = w.queue(), w.queue(ReceiveMessageWaitTimeSeconds="2")
    for receive, least in ((lambda: w.receive(url, wait=2), 1.9),
                           (lambda: w.sqs.receive_message(QueueUrl=patient).get("Messages", []), 1.9), (lambda: w.receive(patient, wait=0), 0)):
        start = time.monotonic()
        equal(receive(), [], "received from an empty queue")
        took = time.monotonic() - start
        true(least <= took < least + 1.5, f"an empty poll took {took:.2f} s, want {least}")
    got = []
    waiting = threading.Thread(target=lambda: got.append((w.bodies(url, wait=20), time.monotonic())))
    waiting.start()
    time.sleep(0.5)
    sent = time.monotonic()
    w.send(url, "wake")
    waiting.join(25)
    equal(got[0][0], ["wake"], "received")
    true(got[0][1] - sent < 1, f"woke after {got[0][1] - sent:.2f} s")


@rules("four waiting receives share what is sent, each message once")
def _(w):
    url = w.queue()
    got, lock = [], threading.Lock()

    def take():
        for body in w.bodies(url, count=1, wait=5):
            with lock:
                got.append(body)

    threads = [threading.Thread(target=take) for _ in range(4)]
    for t in threads:
        t.start()
    for i in range(4):
        w.send(url, str(i))
    for t in threads:
        t.join(10)
    equal(sorted(got), ["0", "1", "2", "3"], "bodies")


@rules("receive parameters out of range are refused")
def _(w):
    url = w.queue()
    for more in ({"MaxNumberOfMessages": 0}, {"MaxNumberOfMessages": 11}, {"WaitTimeSeconds": 21}, {"WaitTimeSeconds": -1}, {"VisibilityTimeout": 43_201}):
        w.refused("InvalidParameterValue", w.sqs.receive_message, QueueUrl=url, **more)


@rules("a message received too often moves to the dead-letter queue and tells where it was")
def _(w):
    dead = w.queue()
    policy = f'{{"deadLetterTargetArn":"{w.arn(dead)}","maxReceiveCount":"2"}}'
    url = w.queue(VisibilityTimeout="0", RedrivePolicy=policy)
    true('"maxReceiveCount":' in w.attributes(url)["RedrivePolicy"], "RedrivePolicy is not returned")
    equal(w.sqs.list_dead_letter_source_queues(QueueUrl=dead)["queueUrls"], [url], "sources")
    sent = w.send(url, "poison", MessageAttributes=ATTRIBUTES)
    for _ in range(2):
        equal(len(w.receive(url, wait=1)), 1, "received")
    equal(w.receive(url), [], "received a third time")
    got, = within(3, "the dead message", lambda: w.receive(dead, MessageAttributeNames=["All"]))
    equal((got["Body"], got["MessageId"]), ("poison", sent["MessageId"]), "body and id")
    equal(got["Attributes"]["DeadLetterQueueSourceArn"], w.arn(url), "source")
    equal(got["MD5OfMessageAttributes"], attributes_md5(ATTRIBUTES), "checksum of attributes")


@rules("a dead-letter queue must exist and must allow its source")
def _(w):
    w.refused("InvalidParameterValue", w.sqs.create_queue, QueueName=w.name(),
              Attributes={"RedrivePolicy": '{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:000000000000:none","maxReceiveCount":1}'})
    closed = w.queue(RedriveAllowPolicy='{"redrivePermission":"denyAll"}')
    policy = f'{{"deadLetterTargetArn":"{w.arn(closed)}","maxReceiveCount":1}}'
    try:
        w.queue(RedrivePolicy=policy)
    except w.sqs.exceptions.ClientError:
        return
    raise AssertionError("a queue that denies all sources became a dead-letter queue")
