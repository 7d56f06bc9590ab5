// Writes one receipt for each order. It speaks Muster's JSON lines, which docs/worker-protocol.md specifies, and needs no
// package besides Node.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');

// Standard output is for answers alone, so logs go to standard error.
console.log = console.info = console.debug = console.error;

/** Does the work for one message. What it throws is the message's failure. */
async function writeReceipt(message, dir) {
  if (message.body === undefined) throw new Error('the body is no text');
  const order = JSON.parse(message.body);
  if (!Array.isArray(order.lines)) throw new Error('the order has no lines');
  const total = order.lines.reduce((sum, line) => sum + line.pieces * line.cents, 0);
  if (!Number.isSafeInteger(total)) throw new Error('the total is no whole number of cents');
  // The message's key names the file, and the file appears whole. A message that is delivered twice replaces its receipt by
  // the same one.
  const file = path.join(dir, encodeURIComponent(message.idempotency_key) + '.json');
  const scratch = `${file}.${process.pid}`;
  await fs.promises.writeFile(scratch, JSON.stringify({ total_cents: total }) + '\n');
  await fs.promises.rename(scratch, file);
}

/** Answers every message that comes on standard input with what work makes of it. Those of one line are done at the same time. */
async function serve(work) {
  const answer = (fields) => process.stdout.write(JSON.stringify(fields) + '\n');
  for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const request = JSON.parse(line);
    if (request.type === 'hello') answer({ type: 'ready', protocol: 1 });
    if (request.type !== 'work') continue;
    await Promise.all(request.messages.map(async (message) => {
      try {
        await work(message);
        answer({ type: 'done', delivery: message.delivery, ok: true });
      } catch (e) { // a bad message must not end the program
        answer({ type: 'done', delivery: message.delivery, ok: false, error: String(e) });
      }
    }));
  }
}

const dir = process.env.RECEIPTS || 'receipts';
fs.mkdirSync(dir, { recursive: true });
serve((message) => writeReceipt(message, dir));
