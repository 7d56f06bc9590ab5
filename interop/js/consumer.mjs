// The npm package sqs-consumer works for about a minute: batches, failures, and work that takes longer than the visibility
// timeout and is extended by heartbeats.
import * as sqs from "@aws-sdk/client-sqs";
import { Consumer } from "sqs-consumer";
import { assert, connect, run, within } from "./checks.mjs";

const SECONDS = 50; // for which messages are produced
const client = connect();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function queue(name, Attributes) {
  return (await client.send(new sqs.CreateQueueCommand({ QueueName: `${name}-${process.pid}`, Attributes }))).QueueUrl;
}

/** Sends numbered messages, ten at a time, spread over the time. */
async function produce(QueueUrl, total, seconds) {
  for (let first = 0; first < total; first += 10) {
    const Entries = Array.from({ length: 10 }, (_, i) => ({ Id: `${i}`, MessageBody: `${first + i}` }));
    const { Failed } = await client.send(new sqs.SendMessageBatchCommand({ QueueUrl, Entries }));
    assert.equal(Failed?.length ?? 0, 0);
    await pause((seconds * 10_000) / total);
  }
}

async function left(QueueUrl) {
  const { Attributes } = await client.send(new sqs.GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] }));
  return Number(Attributes.ApproximateNumberOfMessages) + Number(Attributes.ApproximateNumberOfMessagesNotVisible);
}

/** Runs a consumer while messages are produced and until none is left. It may report no errors but those expected. */
async function consume(queueUrl, total, options, expected = /^$/) {
  const errors = [];
  const consumer = Consumer.create({ queueUrl, sqs: client, waitTimeSeconds: 5, ...options });
  for (const event of ["error", "processing_error", "timeout_error"]) {
    consumer.on(event, (error) => expected.test(error.message) || errors.push(`${event}: ${error.message}`));
  }
  consumer.start();
  await produce(queueUrl, total, SECONDS);
  await within(30, "an empty queue", async () => (await left(queueUrl)) === 0);
  const stopped = new Promise((resolve) => consumer.once("stopped", resolve));
  consumer.stop({ abort: true });
  await stopped;
  assert.deepEqual(errors, []);
}

await run("sqs-consumer", {
  "600 messages in batches of ten are each handled once": async () => {
    const url = await queue("batches", {});
    const seen = [];
    const handleMessageBatch = async (messages) => {
      seen.push(...messages.map((m) => Number(m.Body)));
      return messages;
    };
    await consume(url, 600, { batchSize: 10, handleMessageBatch });
    assert.deepEqual(seen.sort((a, b) => a - b), Array.from({ length: 600 }, (_, i) => i));
  },
  "messages whose first attempt fails are given back and handled the second time": async () => {
    const url = await queue("failures", { VisibilityTimeout: "60" });
    const attempts = new Map();
    const handleMessage = async (m) => {
      const attempt = Number(m.Attributes.ApproximateReceiveCount);
      attempts.set(m.Body, attempt);
      if (attempt === 1 && m.Body.endsWith("7")) throw new Error("first attempt");
      return m;
    };
    const options = { batchSize: 5, messageSystemAttributeNames: ["ApproximateReceiveCount"], terminateVisibilityTimeout: true, handleMessage };
    await consume(url, 100, options, /first attempt/);
    assert.equal(attempts.size, 100);
    for (const [body, attempt] of attempts) assert.equal(attempt, body.endsWith("7") ? 2 : 1, `attempts of ${body}`);
  },
  "heartbeats keep messages that are worked on for longer than their visibility timeout": async () => {
    const url = await queue("heartbeat", { VisibilityTimeout: "2" });
    const seen = [];
    const handleMessage = async (m) => {
      seen.push(Number(m.Body));
      await pause(4500);
      return m;
    };
    // The client's heart beats until its delete is answered: on a slow machine a beat may find the message gone.
    const late = /Message does not exist or is not available for visibility timeout change/;
    await consume(url, 40, { batchSize: 10, visibilityTimeout: 2, heartbeatInterval: 1, handleMessage }, late);
    assert.deepEqual(seen.sort((a, b) => a - b), Array.from({ length: 40 }, (_, i) => i));
  },
});
