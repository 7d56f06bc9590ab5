"""Access: signatures that are right, wrong, absent, or in the query string."""

import os
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as xml

import botocore
from botocore.config import Config

from boto.world import connect
from checks import Rules, equal, true

rules = Rules()
anyone = Rules()

NAMESPACE = "{http://queue.amazonaws.com/doc/2012-11-05/}"


def code_of(call, **parameters):
    """Return the error code of a call, or accepted."""
    try:
        call(**parameters)
    except botocore.exceptions.ClientError as error:
        return error.response["Error"]["Code"]
    return "accepted"


@rules("a wrong secret, an unknown key and an unsigned request are refused by their codes")
def _(w):
    key, secret = os.environ["AWS_ACCESS_KEY_ID"], os.environ["AWS_SECRET_ACCESS_KEY"]
    wrong = connect(aws_access_key_id=key, aws_secret_access_key=secret[:-1] + ("A" if secret[-1] != "A" else "B"))
    unknown = connect(aws_access_key_id="AKIAUNKNOWN000000000", aws_secret_access_key=secret)
    unsigned = connect(config=Config(signature_version=botocore.UNSIGNED))
    equal([code_of(c.list_queues) for c in (wrong, unknown, unsigned)],
          ["SignatureDoesNotMatch", "InvalidClientTokenId", "MissingAuthenticationToken"], "codes")


@rules("a queue is of the region that is signed for")
def _(w):
    url = w.queue()
    name = url.rsplit("/", 1)[1]
    frankfurt = connect(region="eu-central-1")
    equal(code_of(lambda: frankfurt.get_queue_url(QueueName=name)), "AWS.SimpleQueueService.NonExistentQueue", "code")
    there = frankfurt.create_queue(QueueName=name)["QueueUrl"]
    arn = frankfurt.get_queue_attributes(QueueUrl=there, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    equal(arn, f"arn:aws:sqs:eu-central-1:000000000000:{name}", "ARN")
    frankfurt.send_message(QueueUrl=there, MessageBody="hallo")
    w.send(url, "hello")
    equal(w.bodies(url, wait=1), ["hello"], "bodies")
    equal([m["Body"] for m in frankfurt.receive_message(QueueUrl=there, MaxNumberOfMessages=10)["Messages"]], ["hallo"], "bodies there")
    frankfurt.delete_queue(QueueUrl=there)


@rules("a queue is of the account in its URL, whatever the host", protocol="json")
def _(w):
    name = w.queue().rsplit("/", 1)[1]
    w.send(f"https://sqs.eu-west-1.amazonaws.com/000000000000/{name}", "x")
    equal(w.bodies(f"https://sqs.eu-west-1.amazonaws.com/000000000000/{name}", wait=1), ["x"], "bodies")
    w.refused("QueueDoesNotExist", w.send, url=f"https://sqs.eu-west-1.amazonaws.com/123456789012/{name}", body="x")


@rules("a presigned address can be fetched by anybody", protocol="query")
def _(w):
    url = w.queue()
    w.send(url, "for <everybody>")
    address = w.sqs.generate_presigned_url("receive_message", Params={"QueueUrl": url, "MaxNumberOfMessages": 1}, HttpMethod="GET")
    status, answer = fetch(address)
    equal((status, text(answer, "Body")), (200, "for <everybody>"), "answer")
    status, answer = fetch(address.replace("MaxNumberOfMessages=1", "MaxNumberOfMessages=2"))
    equal((status, text(answer, "Code")), (403, "SignatureDoesNotMatch"), "answer to a changed address")


def fetch(address, form=None):
    """Return status and XML of an address, without any credentials."""
    data = None if form is None else urllib.parse.urlencode(form).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(address, data=data), timeout=30) as answer:
            return answer.status, xml.fromstring(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, xml.fromstring(error.read())


def text(answer, name):
    """Return the text of the first element of that name, in the namespace of SQS."""
    return answer.findtext(f".//{NAMESPACE}{name}")


@anyone("with --any-credentials a wrong secret and no signature at all are accepted")
def _(w):
    other = connect(aws_access_key_id="test", aws_secret_access_key="test")
    unsigned = connect(config=Config(signature_version=botocore.UNSIGNED))
    equal([code_of(c.list_queues) for c in (other, unsigned)], ["accepted", "accepted"], "codes")


@anyone("plain GET and POST requests of the Query protocol are answered in XML")
def _(w):
    base = os.environ["AWS_ENDPOINT_URL_SQS"]
    status, answer = fetch(f"{base}/?Action=CreateQueue&QueueName=plain&Version=2012-11-05&Attribute.1.Name=DelaySeconds&Attribute.1.Value=0")
    equal((status, answer.tag), (200, NAMESPACE + "CreateQueueResponse"), "answer")
    url = text(answer, "QueueUrl")
    true(text(answer, "RequestId"), "no request id")
    status, answer = fetch(url, {"Action": "SendMessage", "MessageBody": "a <b>\r\n", "MessageAttribute.1.Name": "n",
                                 "MessageAttribute.1.Value.DataType": "String", "MessageAttribute.1.Value.StringValue": "v & w"})
    equal((status, answer.tag), (200, NAMESPACE + "SendMessageResponse"), "answer")
    status, answer = fetch(f"{url}?Action=ReceiveMessage&AttributeName.1=All&MessageAttributeName.1=All&WaitTimeSeconds=1")
    equal((status, text(answer, "Body"), text(answer, "StringValue")), (200, "a <b>\r\n", "v & w"), "received")
    status, answer = fetch(url, {"Action": "DeleteMessage", "ReceiptHandle": text(answer, "ReceiptHandle")})
    equal((status, answer.find(NAMESPACE + "DeleteMessageResult")), (200, None), "delete")
    fetch(url, {"Action": "DeleteQueue"})
    status, answer = fetch(url, {"Action": "PurgeQueue"})
    equal((status, answer.tag, text(answer, "Code"), text(answer, "Type")),
          (400, NAMESPACE + "ErrorResponse", "AWS.SimpleQueueService.NonExistentQueue", "Sender"), "refusal")
    status, answer = fetch(base, {"Action": "PaintQueue"})
    true(status == 400 and text(answer, "Code") in ("InvalidAction", "AWS.SimpleQueueService.UnsupportedOperation"), f"{status} {xml.tostring(answer)}")


@anyone("with --any-credentials requests of a browser's page are refused all the same")
def _(w):
    request = urllib.request.Request(os.environ["AWS_ENDPOINT_URL_SQS"], data=b"Action=ListQueues", headers={"Origin": "http://example.com"})
    try:
        urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError as error:
        equal(error.code, 403, "HTTP status")
        return
    raise AssertionError("accepted")
