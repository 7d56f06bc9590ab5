"""Queues: making, finding, changing and deleting them."""

import json

from checks import Rules, equal, true

rules = Rules()


@rules("CreateQueue answers a URL of account and name, and GetQueueUrl finds it")
def _(w):
    url = w.queue()
    name = url.rsplit("/", 1)[1]
    true(url.endswith(f"/000000000000/{name}"), f"URL {url}")
    equal(w.sqs.get_queue_url(QueueName=name)["QueueUrl"], url, "URL")
    equal(w.sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId="000000000000")["QueueUrl"], url, "URL")


@rules("CreateQueue with equal attributes is repeatable; with others it is QueueNameExists")
def _(w):
    name = w.name()
    first = w.sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "17", "DelaySeconds": "1"})["QueueUrl"]
    w.made.append(first)
    equal(w.sqs.create_queue(QueueName=name)["QueueUrl"], first, "URL")
    equal(w.sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "17"})["QueueUrl"], first, "URL")
    text = w.refused("QueueNameExists", w.sqs.create_queue, QueueName=name, Attributes={"VisibilityTimeout": "18"})
    true("VisibilityTimeout" in text, f"text does not name the attribute: {text}")


@rules("CreateQueue refuses bad names, attributes and values by their codes")
def _(w):
    create = w.sqs.create_queue
    for name in ("a.b", "a b", "x" * 81, "q.fifo", ".fifo"):
        w.refused("InvalidParameterValue", create, QueueName=name)
    w.refused("InvalidParameterValue", create, QueueName="q", Attributes={"FifoQueue": "true"})
    w.refused("InvalidAttributeName", create, QueueName=w.name(), Attributes={"Colour": "red"})
    w.refused("InvalidAttributeName", create, QueueName=w.name(), Attributes={"ContentBasedDeduplication": "true"})
    w.refused("InvalidAttributeName", create, QueueName=w.name(), Attributes={"DeduplicationScope": "queue"})
    for attribute, value in (("VisibilityTimeout", "43201"), ("DelaySeconds", "-1"), ("MaximumMessageSize", "1023"), ("MaximumMessageSize", "1048577"),
                             ("MessageRetentionPeriod", "59"), ("ReceiveMessageWaitTimeSeconds", "21"), ("DelaySeconds", "soon"),
                             ("RedrivePolicy", "no document")):
        w.refused("InvalidAttributeValue", create, QueueName=w.name(), Attributes={attribute: value})


@rules("every action on a queue that does not exist is QueueDoesNotExist")
def _(w):
    url = w.queue()
    w.sqs.delete_queue(QueueUrl=url)
    s = w.sqs
    for call, more in (
            (s.get_queue_attributes, {"AttributeNames": ["All"]}), (s.set_queue_attributes, {"Attributes": {"DelaySeconds": "1"}}),
            (s.send_message, {"MessageBody": "x"}), (s.send_message_batch, {"Entries": [{"Id": "a", "MessageBody": "x"}]}),
            (s.receive_message, {}), (s.delete_message, {"ReceiptHandle": "x"}),
            (s.delete_message_batch, {"Entries": [{"Id": "a", "ReceiptHandle": "x"}]}),
            (s.change_message_visibility, {"ReceiptHandle": "x", "VisibilityTimeout": 1}),
            (s.change_message_visibility_batch, {"Entries": [{"Id": "a", "ReceiptHandle": "x", "VisibilityTimeout": 1}]}),
            (s.purge_queue, {}), (s.delete_queue, {}), (s.list_queue_tags, {}), (s.tag_queue, {"Tags": {"a": "b"}}),
            (s.untag_queue, {"TagKeys": ["a"]}), (s.list_dead_letter_source_queues, {}),
            (s.add_permission, {"Label": "l", "AWSAccountIds": ["000000000000"], "Actions": ["SendMessage"]}),
            (s.remove_permission, {"Label": "l"})):
        try:
            w.refused("QueueDoesNotExist", call, status=400, QueueUrl=url, **more)
        except AssertionError as error:
            raise AssertionError(f"{call.__name__}: {error}") from error
    w.refused("QueueDoesNotExist", s.get_queue_url, QueueName="none-" + w.name())


@rules("ListQueues selects by prefix and pages")
def _(w):
    prefix = w.name("-list")
    made = sorted(w.sqs.create_queue(QueueName=f"{prefix}-{i}")["QueueUrl"] for i in range(5))
    w.made.extend(made)
    equal(sorted(w.sqs.list_queues(QueueNamePrefix=prefix)["QueueUrls"]), made, "queues")
    pages = list(w.sqs.get_paginator("list_queues").paginate(QueueNamePrefix=prefix, PaginationConfig={"PageSize": 2}))
    equal([len(p["QueueUrls"]) for p in pages], [2, 2, 1], "sizes of pages")
    equal(sorted(u for p in pages for u in p["QueueUrls"]), made, "queues over all pages")
    true("QueueUrls" not in w.sqs.list_queues(QueueNamePrefix="none-" + prefix), "an empty list is not absent")
    w.refused("InvalidParameterValue", w.sqs.list_queues, MaxResults=1001)


@rules("GetQueueAttributes returns all, some or none, as texts")
def _(w):
    url = w.queue(VisibilityTimeout="7", ReceiveMessageWaitTimeSeconds="2", MaximumMessageSize="2048")
    have = w.attributes(url)
    for name, value in {"VisibilityTimeout": "7", "DelaySeconds": "0", "MaximumMessageSize": "2048", "MessageRetentionPeriod": "345600",
                        "ReceiveMessageWaitTimeSeconds": "2", "ApproximateNumberOfMessages": "0", "ApproximateNumberOfMessagesNotVisible": "0",
                        "ApproximateNumberOfMessagesDelayed": "0"}.items():
        equal(have.get(name), value, name)
    for name in ("CreatedTimestamp", "LastModifiedTimestamp"):
        true(len(have[name]) == 10 and have[name].isdigit(), f"{name} is {have[name]}, want seconds")
    name = url.rsplit("/", 1)[1]
    equal(have["QueueArn"], f"arn:aws:sqs:us-east-1:000000000000:{name}", "ARN")
    equal(sorted(w.attributes(url, "QueueArn", "DelaySeconds")), ["DelaySeconds", "QueueArn"], "names asked for")
    true(not w.sqs.get_queue_attributes(QueueUrl=url).get("Attributes"), "no names asked for, some returned")
    true("RedrivePolicy" not in have and "FifoQueue" not in have, f"attributes never set are returned: {sorted(have)}")
    w.refused("InvalidAttributeName", w.sqs.get_queue_attributes, QueueUrl=url, AttributeNames=["Colour"])


@rules("SetQueueAttributes changes what is given and nothing else")
def _(w):
    url = w.queue(VisibilityTimeout="7", DelaySeconds="3")
    w.sqs.set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "0", "MaximumMessageSize": "1024"})
    have = w.attributes(url)
    equal([have[n] for n in ("VisibilityTimeout", "DelaySeconds", "MaximumMessageSize")], ["7", "0", "1024"], "attributes")
    w.refused("InvalidAttributeValue", w.sqs.set_queue_attributes, QueueUrl=url, Attributes={"VisibilityTimeout": "99999"})
    w.refused("InvalidAttributeName", w.sqs.set_queue_attributes, QueueUrl=url, Attributes={"Colour": "red"})
    equal(w.attributes(url)["VisibilityTimeout"], "7", "VisibilityTimeout after refusals")


@rules("policies and KMS attributes are kept as they were given")
def _(w):
    policy = json.dumps({"Version": "2012-10-17", "Statement": [
        {"Sid": "x", "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}]})
    url = w.queue(Policy=policy, KmsMasterKeyId="alias/aws/sqs", KmsDataKeyReusePeriodSeconds="600")
    have = w.attributes(url)
    equal(json.loads(have["Policy"]), json.loads(policy), "Policy")
    equal((have["KmsMasterKeyId"], have["KmsDataKeyReusePeriodSeconds"]), ("alias/aws/sqs", "600"), "KMS attributes")


@rules("tags are set with the queue, added, listed and removed")
def _(w):
    url = w.queue(tags={"team": "blue", "cost": "a b&c=<d>"})
    equal(w.sqs.list_queue_tags(QueueUrl=url)["Tags"], {"team": "blue", "cost": "a b&c=<d>"}, "tags")
    w.sqs.tag_queue(QueueUrl=url, Tags={"team": "red", "ö": ""})
    w.sqs.untag_queue(QueueUrl=url, TagKeys=["cost", "absent"])
    equal(w.sqs.list_queue_tags(QueueUrl=url)["Tags"], {"team": "red", "ö": ""}, "tags")
    w.sqs.untag_queue(QueueUrl=url, TagKeys=["team", "ö"])
    true(not w.sqs.list_queue_tags(QueueUrl=url).get("Tags"), "tags left")
    w.refused("InvalidParameterValue", w.sqs.tag_queue, QueueUrl=url, Tags={"aws:x": "y"})


@rules("AddPermission writes a statement into the policy and RemovePermission takes it out")
def _(w):
    url = w.queue()
    w.sqs.add_permission(QueueUrl=url, Label="share", AWSAccountIds=["111122223333", "444455556666"], Actions=["SendMessage", "ReceiveMessage"])
    statement, = json.loads(w.attributes(url)["Policy"])["Statement"]
    equal(statement["Sid"], "share", "Sid")
    equal(statement["Effect"], "Allow", "Effect")
    true("111122223333" in json.dumps(statement["Principal"]) and "444455556666" in json.dumps(statement["Principal"]), f"principals {statement}")
    equal(sorted(a.lower() for a in statement["Action"]), ["sqs:receivemessage", "sqs:sendmessage"], "actions")
    w.refused("InvalidParameterValue", w.sqs.add_permission, QueueUrl=url, Label="share", AWSAccountIds=["111122223333"], Actions=["*"])
    w.sqs.remove_permission(QueueUrl=url, Label="share")
    true("share" not in w.attributes(url).get("Policy", ""), "statement is still there")
    w.refused("InvalidParameterValue", w.sqs.remove_permission, QueueUrl=url, Label="share")


@rules("PurgeQueue removes every message, waiting, in flight or delayed")
def _(w):
    url = w.queue()
    for i in range(3):
        w.send(url, f"m{i}")
    w.send(url, "later", DelaySeconds=60)
    w.receive(url, count=1)
    w.sqs.purge_queue(QueueUrl=url)
    equal(w.counts(url), (0, 0, 0), "counts")


@rules("a deleted queue can be made again, empty")
def _(w):
    url = w.queue()
    w.send(url, "old")
    w.sqs.delete_queue(QueueUrl=url)
    w.sqs.create_queue(QueueName=url.rsplit("/", 1)[1])
    equal(w.counts(url), (0, 0, 0), "counts")
