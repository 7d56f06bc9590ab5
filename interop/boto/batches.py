"""Batches: ten at once, and entries that fail while others succeed."""

from boto.world import attributes_md5, md5
from checks import Rules, equal, true

rules = Rules()


def entries(*bodies, **more):
    """Return send entries with ids e0, e1, ..."""
    return [{"Id": f"e{i}", "MessageBody": body, **more} for i, body in enumerate(bodies)]


def ids(rows):
    """Return the sorted ids of the rows of an answer."""
    return sorted(row["Id"] for row in rows)


@rules("ten messages are sent, received, prolonged and deleted as batches")
def _(w):
    url = w.queue()
    attribute = {"a": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}}
    answer = w.sqs.send_message_batch(QueueUrl=url, Entries=entries(*(f"body <{i}>" for i in range(10)), MessageAttributes=attribute))
    equal(ids(answer["Successful"]), [f"e{i}" for i in range(10)], "successful")
    true("Failed" not in answer, f"failed {answer.get('Failed')}")
    for row in answer["Successful"]:
        equal(row["MD5OfMessageBody"], md5(f"body <{row['Id'][1:]}>"), "checksum")
        equal(row["MD5OfMessageAttributes"], attributes_md5(attribute), "checksum of attributes")
    got = w.receive(url, wait=1)
    equal(sorted(m["MessageId"] for m in got), sorted(r["MessageId"] for r in answer["Successful"]), "ids")
    held = [{"Id": m["MessageId"], "ReceiptHandle": m["ReceiptHandle"]} for m in got]
    changed = w.sqs.change_message_visibility_batch(QueueUrl=url, Entries=[{**h, "VisibilityTimeout": 60} for h in held])
    equal((ids(changed["Successful"]), "Failed" in changed), (ids(held), False), "changed")
    deleted = w.sqs.delete_message_batch(QueueUrl=url, Entries=held)
    equal((ids(deleted["Successful"]), "Failed" in deleted), (ids(held), False), "deleted")
    equal(w.counts(url), (0, 0, 0), "counts")


@rules("entries with a fault fail by themselves, with code and sender fault")
def _(w):
    url = w.queue()
    batch = entries("good", "bad \x01", "good too", "late", "odd")
    batch[3]["DelaySeconds"] = 901
    batch[4]["MessageAttributes"] = {"AWS.x": {"DataType": "String", "StringValue": "v"}}
    answer = w.sqs.send_message_batch(QueueUrl=url, Entries=batch)
    equal(ids(answer["Successful"]), ["e0", "e2"], "successful")
    equal({r["Id"]: (r["Code"], r["SenderFault"]) for r in answer["Failed"]},
          {"e1": ("InvalidMessageContents", True), "e3": ("InvalidParameterValue", True), "e4": ("InvalidParameterValue", True)}, "failed")
    true(all(r["Message"] for r in answer["Failed"]), "a failure has no message")
    equal(sorted(w.bodies(url, wait=1)), ["good", "good too"], "stored")


@rules("of deletes and changes, those with a handle that nobody gave fail by themselves")
def _(w):
    url = w.queue()
    w.send(url, "x")
    got, = w.receive(url, wait=1)
    pair = [{"Id": "forged", "ReceiptHandle": "forged"}, {"Id": "good", "ReceiptHandle": got["ReceiptHandle"]}]
    for call, extra in ((w.sqs.change_message_visibility_batch, {"VisibilityTimeout": 9}), (w.sqs.delete_message_batch, {})):
        answer = call(QueueUrl=url, Entries=[{**e, **extra} for e in pair])
        equal(ids(answer["Successful"]), ["good"], f"{call.__name__}: successful")
        equal([(r["Id"], r["Code"], r["SenderFault"]) for r in answer["Failed"]], [("forged", "ReceiptHandleIsInvalid", True)], f"{call.__name__}: failed")


@rules("batches that are empty, too many, too long or with bad ids are refused as a whole")
def _(w):
    url = w.queue()
    send = w.sqs.send_message_batch
    half = "x" * 600_000
    for shape, batch in (
            ("EmptyBatchRequest", []), ("TooManyEntriesInBatchRequest", entries(*"abcdefghijk")), ("BatchRequestTooLong", entries(half, half)),
            ("BatchEntryIdsNotDistinct", entries("a") + entries("b")), ("InvalidBatchEntryId", [{"Id": "a:b", "MessageBody": "x"}]),
            ("InvalidBatchEntryId", [{"Id": "x" * 81, "MessageBody": "x"}])):
        w.refused(shape, send, status=400, QueueUrl=url, Entries=batch)
    w.refused("EmptyBatchRequest", w.sqs.delete_message_batch, QueueUrl=url, Entries=[])
    w.refused("EmptyBatchRequest", w.sqs.change_message_visibility_batch, QueueUrl=url, Entries=[])
    many = [{"Id": str(i), "ReceiptHandle": "x"} for i in range(11)]
    w.refused("TooManyEntriesInBatchRequest", w.sqs.delete_message_batch, QueueUrl=url, Entries=many)
    equal(w.counts(url), (0, 0, 0), "counts")
