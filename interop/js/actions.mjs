// Every action once through the AWS SDK for JavaScript v3, which checks the checksums itself.
import * as sqs from "@aws-sdk/client-sqs";
import { assert, connect, run, within } from "./checks.mjs";

const client = connect();
const call = (action, input = {}) => client.send(new sqs[`${action}Command`](input));
const prefix = `j${process.pid}`;
let made = 0;

async function queue(Attributes = {}, more = {}) {
  const suffix = Attributes.FifoQueue ? ".fifo" : "";
  const { QueueUrl } = await call("CreateQueue", { QueueName: `${prefix}-${++made}${suffix}`, Attributes, ...more });
  return QueueUrl;
}

const attributes = async (QueueUrl) => (await call("GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] })).Attributes;
const arn = async (url) => (await attributes(url)).QueueArn;
const count = async (url) => Number((await attributes(url)).ApproximateNumberOfMessages);
const receive = async (QueueUrl, more = {}) =>
  (await call("ReceiveMessage", { QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, MessageSystemAttributeNames: ["All"], MessageAttributeNames: ["All"], ...more })).Messages ?? [];

async function deadLetters() {
  const dead = await queue();
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: await arn(dead), maxReceiveCount: 1 });
  const url = await queue({ VisibilityTimeout: "0", RedrivePolicy });
  for (let i = 0; i < 10; i++) await call("SendMessage", { QueueUrl: url, MessageBody: `m${i}` });
  await within(5, "ten dead messages", async () => (await receive(url, { WaitTimeSeconds: 0 }), (await count(dead)) === 10));
  return { url, dead };
}

await run(process.argv[2] ?? "aws-sdk-js v3", {
  "CreateQueue, GetQueueUrl, ListQueues and DeleteQueue": async () => {
    const url = await queue();
    assert.equal((await call("GetQueueUrl", { QueueName: url.split("/").at(-1) })).QueueUrl, url);
    assert.ok((await call("ListQueues", { QueueNamePrefix: prefix })).QueueUrls.includes(url));
    await call("DeleteQueue", { QueueUrl: url });
    await assert.rejects(call("GetQueueUrl", { QueueName: url.split("/").at(-1) }), sqs.QueueDoesNotExist);
  },
  "GetQueueAttributes and SetQueueAttributes": async () => {
    const url = await queue({ VisibilityTimeout: "7" });
    await call("SetQueueAttributes", { QueueUrl: url, Attributes: { DelaySeconds: "3" } });
    const have = await attributes(url);
    assert.deepEqual([have.VisibilityTimeout, have.DelaySeconds], ["7", "3"]);
  },
  "TagQueue, ListQueueTags and UntagQueue": async () => {
    const url = await queue({}, { tags: { a: "1" } });
    await call("TagQueue", { QueueUrl: url, Tags: { b: "2" } });
    await call("UntagQueue", { QueueUrl: url, TagKeys: ["a"] });
    assert.deepEqual((await call("ListQueueTags", { QueueUrl: url })).Tags, { b: "2" });
  },
  "AddPermission and RemovePermission": async () => {
    const url = await queue();
    await call("AddPermission", { QueueUrl: url, Label: "share", AWSAccountIds: ["111122223333"], Actions: ["SendMessage"] });
    assert.match((await attributes(url)).Policy, /share/);
    await call("RemovePermission", { QueueUrl: url, Label: "share" });
    assert.doesNotMatch((await attributes(url)).Policy ?? "", /share/);
  },
  "SendMessage, ReceiveMessage, ChangeMessageVisibility and DeleteMessage, with attributes of all types": async () => {
    const url = await queue();
    const MessageAttributes = {
      text: { DataType: "String", StringValue: "ü <&>" },
      number: { DataType: "Number.int", StringValue: "7" },
      bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(0, 255) },
    };
    const sent = await call("SendMessage", { QueueUrl: url, MessageBody: "hé\r\n<&>", MessageAttributes });
    let [got] = await receive(url);
    assert.deepEqual([got.MessageId, got.Body, got.MD5OfMessageAttributes], [sent.MessageId, "hé\r\n<&>", sent.MD5OfMessageAttributes]);
    assert.deepEqual(got.MessageAttributes, MessageAttributes);
    await call("ChangeMessageVisibility", { QueueUrl: url, ReceiptHandle: got.ReceiptHandle, VisibilityTimeout: 0 });
    [got] = await receive(url);
    assert.equal(got.Attributes.ApproximateReceiveCount, "2");
    await call("DeleteMessage", { QueueUrl: url, ReceiptHandle: got.ReceiptHandle });
    assert.deepEqual(await receive(url, { WaitTimeSeconds: 0 }), []);
  },
  "SendMessageBatch, ChangeMessageVisibilityBatch and DeleteMessageBatch, with entries that fail": async () => {
    const url = await queue();
    const Entries = [..."abc"].map((Id) => ({ Id, MessageBody: Id === "b" ? "\u0001" : Id }));
    const sent = await call("SendMessageBatch", { QueueUrl: url, Entries });
    assert.deepEqual([sent.Successful.length, sent.Failed[0].Id, sent.Failed[0].Code], [2, "b", "InvalidMessageContents"]);
    const held = (await receive(url)).map((m, i) => ({ Id: `${i}`, ReceiptHandle: m.ReceiptHandle }));
    const forged = { Id: "forged", ReceiptHandle: "forged" };
    const changed = await call("ChangeMessageVisibilityBatch", { QueueUrl: url, Entries: [...held, forged].map((e) => ({ ...e, VisibilityTimeout: 60 })) });
    assert.deepEqual([changed.Successful.length, changed.Failed[0].Code], [2, "ReceiptHandleIsInvalid"]);
    const deleted = await call("DeleteMessageBatch", { QueueUrl: url, Entries: [...held, forged] });
    assert.deepEqual([deleted.Successful.length, deleted.Failed[0].Code], [2, "ReceiptHandleIsInvalid"]);
  },
  "PurgeQueue": async () => {
    const url = await queue();
    await call("SendMessage", { QueueUrl: url, MessageBody: "x" });
    await call("PurgeQueue", { QueueUrl: url });
    assert.equal(await count(url), 0);
  },
  "ListDeadLetterSourceQueues, StartMessageMoveTask and ListMessageMoveTasks": async () => {
    const { url, dead } = await deadLetters();
    assert.deepEqual((await call("ListDeadLetterSourceQueues", { QueueUrl: dead })).queueUrls, [url]);
    await call("StartMessageMoveTask", { SourceArn: await arn(dead) });
    const task = async () => (await call("ListMessageMoveTasks", { SourceArn: await arn(dead) })).Results[0];
    await within(10, "COMPLETED", async () => (await task()).Status === "COMPLETED");
    assert.deepEqual([(await task()).ApproximateNumberOfMessagesMoved, await count(dead)], [10, 0]);
  },
  "CancelMessageMoveTask": async () => {
    const { dead } = await deadLetters();
    const { TaskHandle } = await call("StartMessageMoveTask", { SourceArn: await arn(dead), MaxNumberOfMessagesPerSecond: 1 });
    assert.ok((await call("CancelMessageMoveTask", { TaskHandle })).ApproximateNumberOfMessagesMoved < 10);
  },
  "a FIFO queue keeps order and drops duplicates": async () => {
    const url = await queue({ FifoQueue: "true", ContentBasedDeduplication: "true" });
    for (const MessageBody of ["a", "b", "a"]) await call("SendMessage", { QueueUrl: url, MessageBody, MessageGroupId: "g" });
    assert.deepEqual((await receive(url)).map((m) => m.Body), ["a", "b"]);
  },
  "errors are instances of the types of the SDK": async () => {
    const url = await queue();
    await assert.rejects(call("DeleteMessage", { QueueUrl: url, ReceiptHandle: "forged" }), sqs.ReceiptHandleIsInvalid);
    await assert.rejects(call("SendMessageBatch", { QueueUrl: url, Entries: [] }), sqs.EmptyBatchRequest);
    await assert.rejects(call("SendMessage", { QueueUrl: url, MessageBody: "\u0001" }), sqs.InvalidMessageContents);
    await assert.rejects(call("SendMessage", { QueueUrl: `${url}-none`, MessageBody: "x" }), sqs.QueueDoesNotExist);
    await assert.rejects(call("SetQueueAttributes", { QueueUrl: url, Attributes: { Colour: "red" } }), sqs.InvalidAttributeName);
    await assert.rejects(call("ReceiveMessage", { QueueUrl: url, MaxNumberOfMessages: 11 }), { Code: "InvalidParameterValue" });
  },
  "a wrong secret is SignatureDoesNotMatch": async () => {
    const wrong = connect({ credentials: { accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: "wrong" } });
    await assert.rejects(wrong.send(new sqs.ListQueuesCommand({})), (error) => /SignatureDoesNotMatch/.test(error.name + error.Code));
  },
});

for (const QueueUrl of (await call("ListQueues", { QueueNamePrefix: prefix })).QueueUrls ?? []) await call("DeleteQueue", { QueueUrl });
