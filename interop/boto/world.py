"""The fixtures of the rules: a client, queues of their own, and checks of errors."""

import hashlib
import itertools
import os
import struct
import threading

import boto3
import botocore
import botocore.exceptions
from botocore.config import Config

from checks import equal, true

SIMPLE = "AWS.SimpleQueueService."

# What the Query protocol calls the error shapes whose code is another than their name.
CODES = {
    "QueueDoesNotExist": SIMPLE + "NonExistentQueue",
    "QueueNameExists": "QueueAlreadyExists",
    "PurgeQueueInProgress": SIMPLE + "PurgeQueueInProgress",
    "QueueDeletedRecently": SIMPLE + "QueueDeletedRecently",
    "EmptyBatchRequest": SIMPLE + "EmptyBatchRequest",
    "TooManyEntriesInBatchRequest": SIMPLE + "TooManyEntriesInBatchRequest",
    "BatchEntryIdsNotDistinct": SIMPLE + "BatchEntryIdsNotDistinct",
    "InvalidBatchEntryId": SIMPLE + "InvalidBatchEntryId",
    "BatchRequestTooLong": SIMPLE + "BatchRequestTooLong",
    "MessageNotInflight": SIMPLE + "MessageNotInflight",
    "UnsupportedOperation": SIMPLE + "UnsupportedOperation",
}


def connect(**options):
    """Return a client without settings: endpoint, keys and region come from the environment."""
    config = Config(retries={"total_max_attempts": 1}, read_timeout=40, max_pool_connections=20).merge(options.pop("config", Config()))
    if "region" in options:
        options["region_name"] = options.pop("region")
    if tuple(map(int, botocore.__version__.split(".")[:2])) < (1, 31):  # which reads no endpoint from the environment
        options.setdefault("endpoint_url", os.environ["AWS_ENDPOINT_URL_SQS"])
    return boto3.session.Session().client("sqs", config=config, **options)


class World:
    """A client, and queues with unused names. Rules may share it between threads."""

    def __init__(self, prefix):
        self.sqs = connect()
        self.prefix = prefix
        self.protocol = self.sqs.meta.service_model.metadata["protocol"]
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()
        self.made = []

    def name(self, suffix=""):
        """Return an unused queue name."""
        with self.lock:
            return f"{self.prefix}-{next(self.numbers)}{suffix}"

    def queue(self, tags=None, fifo=False, **attributes):
        """Make a queue and return its URL."""
        if fifo:
            attributes["FifoQueue"] = "true"
        url = self.sqs.create_queue(QueueName=self.name(".fifo" if fifo else ""), Attributes=attributes, tags=tags or {})["QueueUrl"]
        with self.lock:
            self.made.append(url)
        return url

    def arn(self, url):
        """Return the ARN of a queue."""
        return self.attributes(url, "QueueArn")["QueueArn"]

    def attributes(self, url, *names):
        """Return the named attributes of a queue, or all."""
        return self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(names) or ["All"])["Attributes"]

    def counts(self, url):
        """Return how many messages wait, are in flight and are delayed."""
        a = self.attributes(url)
        return tuple(int(a["ApproximateNumberOfMessages" + part]) for part in ("", "NotVisible", "Delayed"))

    def send(self, url, body, **more):
        """Send a message and return the answer."""
        return self.sqs.send_message(QueueUrl=url, MessageBody=body, **more)

    def receive(self, url, count=10, wait=0, **more):
        """Receive once."""
        more.setdefault("AttributeNames", ["All"])
        return self.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=count, WaitTimeSeconds=wait, **more).get("Messages", [])

    def bodies(self, url, **more):
        """Receive once and return the bodies alone."""
        return [m["Body"] for m in self.receive(url, **more)]

    def delete(self, url, message):
        """Delete a received message."""
        self.sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])

    def refused(self, shape, call, status=None, **parameters):
        """Demand that a call fails with that error, as the type, the code and the HTTP status; return its text."""
        try:
            call(**parameters)
        except botocore.exceptions.ClientError as error:
            equal(error.response["Error"]["Code"], CODES.get(shape, shape), "error code")
            equal(error.response["Error"].get("Type"), "Sender", "side at fault")
            modelled = getattr(self.sqs.exceptions, shape, None) if shape in self.shapes() else None
            true(modelled is None or isinstance(error, modelled), f"{error!r} is not a client.exceptions.{shape}")
            found = error.response["ResponseMetadata"]["HTTPStatusCode"]
            true(found == (status or found) and 400 <= found < 500, f"HTTP status {found}, want {status or '4xx'}")
            true(error.response["ResponseMetadata"].get("RequestId"), "no request id")
            return error.response["Error"]["Message"]
        raise AssertionError(f"accepted, want {shape}")

    def shapes(self):
        """Return the names of the errors that the client knows as types."""
        return {shape.name for shape in self.sqs.meta.service_model.error_shapes}

    def close(self):
        """Delete what was made."""
        for url in self.made:
            try:
                self.sqs.delete_queue(QueueUrl=url)
            except botocore.exceptions.ClientError:
                pass  # a rule deleted it


def md5(text):
    """Return the checksum of a body."""
    return hashlib.md5(text.encode()).hexdigest()


def attributes_md5(attributes):
    """Return the checksum of message attributes, computed apart from any client."""
    out = hashlib.md5()
    for name in sorted(attributes):
        value = attributes[name]
        binary = value["DataType"].startswith("Binary")
        content = value["BinaryValue"] if binary else value["StringValue"].encode()
        for part in (name.encode(), value["DataType"].encode()):
            out.update(struct.pack(">I", len(part)) + part)
        out.update(b"\x02" if binary else b"\x01")
        out.update(struct.pack(">I", len(content)) + content)
    return out.hexdigest()
