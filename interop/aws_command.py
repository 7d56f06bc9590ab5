"""Every action once through the AWS command line: version 1 as installed beside this Python, or the command in AWS_COMMAND."""

import json
import os
import shlex
import subprocess
import sys
import tempfile

import checks
from checks import Rules, equal, true, within

rules = Rules()


class Shell:
    """Runs aws sqs commands without options: endpoint, keys and region come from the environment."""

    def __init__(self):
        self.prefix = f"c{os.getpid()}"
        named = os.environ.pop("AWS_COMMAND", None)
        self.command = shlex.split(named) if named else [sys.executable, "-m", "awscli"]

    def run(self, command, *arguments, fails=False):
        """Run a command; return its JSON, or its error text if it is to fail."""
        done = subprocess.run(
            [*self.command, "sqs", command, "--output", "json", *arguments],
            capture_output=True, text=True, timeout=60, check=False)
        true((done.returncode != 0) == fails, f"aws sqs {command} ended with {done.returncode}: {done.stderr.strip()}")
        if fails:
            return done.stderr
        return json.loads(done.stdout) if done.stdout.strip() else {}

    def queue(self, name, *arguments):
        """Make a queue and return the arguments that name it."""
        return "--queue-url", self.run("create-queue", "--queue-name", f"{self.prefix}-{name}", *arguments)["QueueUrl"]

    def attribute(self, queue, name):
        """Return one attribute of a queue."""
        return self.run("get-queue-attributes", *queue, "--attribute-names", name)["Attributes"][name]


@rules("create-queue, get-queue-url, list-queues, delete-queue")
def _(aws):
    q = aws.queue("life", "--tags", "a=1")
    equal(aws.run("get-queue-url", "--queue-name", f"{aws.prefix}-life")["QueueUrl"], q[1], "URL")
    equal(aws.run("list-queues", "--queue-name-prefix", f"{aws.prefix}-life")["QueueUrls"], [q[1]], "queues")
    aws.run("delete-queue", *q)
    text = aws.run("get-queue-url", "--queue-name", f"{aws.prefix}-life", fails=True)
    true("NonExistentQueue" in text and "The specified queue does not exist" in text, text)


@rules("get-queue-attributes, set-queue-attributes")
def _(aws):
    q = aws.queue("attributes", "--attributes", "VisibilityTimeout=7")
    aws.run("set-queue-attributes", *q, "--attributes", "DelaySeconds=3")
    have = aws.run("get-queue-attributes", *q, "--attribute-names", "All")["Attributes"]
    equal((have["VisibilityTimeout"], have["DelaySeconds"]), ("7", "3"), "attributes")


@rules("tag-queue, list-queue-tags, untag-queue")
def _(aws):
    q = aws.queue("tags")
    aws.run("tag-queue", *q, "--tags", "a=1,b=2")
    aws.run("untag-queue", *q, "--tag-keys", "a")
    equal(aws.run("list-queue-tags", *q)["Tags"], {"b": "2"}, "tags")


@rules("add-permission, remove-permission")
def _(aws):
    q = aws.queue("permissions")
    aws.run("add-permission", *q, "--label", "share", "--aws-account-ids", "111122223333", "--actions", "SendMessage")
    true("share" in aws.attribute(q, "Policy"), "no statement")
    aws.run("remove-permission", *q, "--label", "share")


@rules("send-message, receive-message, change-message-visibility, delete-message, purge-queue")
def _(aws):
    q = aws.queue("messages")
    sent = aws.run("send-message", *q, "--message-body", "hé <&>", "--message-attributes", '{"a":{"DataType":"Number","StringValue":"7"}}')
    got, = aws.run("receive-message", *q, "--wait-time-seconds", "2", "--message-attribute-names", "All", "--attribute-names", "All")["Messages"]
    equal((got["MessageId"], got["Body"], got["MD5OfMessageAttributes"]), (sent["MessageId"], "hé <&>", sent["MD5OfMessageAttributes"]), "message")
    handle = "--receipt-handle", got["ReceiptHandle"]
    aws.run("change-message-visibility", *q, *handle, "--visibility-timeout", "60")
    aws.run("delete-message", *q, *handle)
    equal(aws.run("receive-message", *q), {}, "an empty queue")
    aws.run("purge-queue", *q)


@rules("send-message-batch, change-message-visibility-batch, delete-message-batch")
def _(aws):
    q = aws.queue("batches")
    entries = [{"Id": i, "MessageBody": i} for i in "abc"]
    equal(len(aws.run("send-message-batch", *q, "--entries", json.dumps(entries))["Successful"]), 3, "sent")
    got = aws.run("receive-message", *q, "--max-number-of-messages", "10")["Messages"]
    held = [{"Id": m["Body"], "ReceiptHandle": m["ReceiptHandle"]} for m in got]
    changed = aws.run("change-message-visibility-batch", *q, "--entries", json.dumps([{**h, "VisibilityTimeout": 60} for h in held]))
    equal(len(changed["Successful"]), 3, "changed")
    deleted = aws.run("delete-message-batch", *q, "--entries", json.dumps([*held, {"Id": "forged", "ReceiptHandle": "forged"}]))
    equal((len(deleted["Successful"]), deleted["Failed"][0]["Code"]), (3, "ReceiptHandleIsInvalid"), "deleted")


@rules("list-dead-letter-source-queues, start-message-move-task, list-message-move-tasks, cancel-message-move-task")
def _(aws):
    dead = aws.queue("dead")
    source = "--source-arn", aws.attribute(dead, "QueueArn")
    policy = json.dumps({"RedrivePolicy": json.dumps({"deadLetterTargetArn": source[1], "maxReceiveCount": 1}), "VisibilityTimeout": "0"})
    q = aws.queue("poison", "--attributes", policy)
    equal(aws.run("list-dead-letter-source-queues", *dead)["queueUrls"], [q[1]], "sources")
    for batch in range(2):
        aws.run("send-message-batch", *q, "--entries", json.dumps([{"Id": str(i), "MessageBody": str(i)} for i in range(10)]))

    def died():
        aws.run("receive-message", *q, "--max-number-of-messages", "10")
        return aws.attribute(dead, "ApproximateNumberOfMessages") == "20"

    within(30, "twenty dead messages", died)
    handle = aws.run("start-message-move-task", *source, "--max-number-of-messages-per-second", "1")["TaskHandle"]
    equal(aws.run("list-message-move-tasks", *source)["Results"][0]["Status"], "RUNNING", "status")
    moved = aws.run("cancel-message-move-task", "--task-handle", handle)["ApproximateNumberOfMessagesMoved"]
    true(moved < 20, f"{moved} moved")


@rules("FIFO: messages of a group come in order")
def _(aws):
    q = aws.queue("order.fifo", "--attributes", "FifoQueue=true,ContentBasedDeduplication=true")
    for body in "ab":
        aws.run("send-message", *q, "--message-body", body, "--message-group-id", "g")
    got = aws.run("receive-message", *q, "--max-number-of-messages", "10")["Messages"]
    equal([m["Body"] for m in got], ["a", "b"], "order")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ.update(HOME=home)
        sys.exit(1 if checks.run(sys.argv[1] if len(sys.argv) > 1 else "aws cli", Shell(), rules.rows, together=2) else 0)
