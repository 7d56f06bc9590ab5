// Runs rules side by side and prints one line for each.
import assert from "node:assert/strict";
import { SQSClient } from "@aws-sdk/client-sqs";

export { assert };

/** A client that is told nothing: endpoint, keys and region are those of the environment. */
export const connect = (more = {}) => new SQSClient({ maxAttempts: 1, ...more });

/** Tries every rule, together, and prints a line for each in their order. */
export async function run(suite, rules) {
  const tries = Object.entries(rules).map(([sentence, rule]) => [sentence, rule().then(() => null, (error) => error)]);
  for (const [sentence, outcome] of tries) {
    const error = await outcome;
    if (error) {
      process.exitCode = 1;
      console.error(error);
    }
    console.log(error ? `FAIL ${suite}: ${sentence}: ${`${error.name}: ${error.message}`.replace(/\s+/g, " ").slice(0, 600)}` : `ok   ${suite}: ${sentence}`);
  }
}

/** Probes until the answer is true, for so many seconds at most. */
export async function within(seconds, what, probe) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    if (await probe()) return;
    assert.ok(Date.now() < end, `${what}: not within ${seconds} s`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
