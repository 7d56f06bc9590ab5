import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, maxEvent, wait } from "../src/stream.ts";

const text =
	': hello\n\nid: m-1\nevent: board\ndata: {"a":1}\n\nevent: change\r\ndata: one\r\ndata: two\r\n\r\nretry: 500\ndata:x\n\nid: m-2\n\n';
const want = [
	{ id: "m-1", event: "board", data: '{"a":1}' },
	{ id: "m-1", event: "change", data: "one\ntwo" },
	{ id: "m-1", event: "message", data: "x" },
];

test("the same events come out wherever the stream is cut", () => {
	for (let cut = 0; cut <= text.length; cut++) {
		const p = new EventParser();
		assert.deepEqual([...p.push(text.slice(0, cut)), ...p.push(text.slice(cut))], want, `cut at ${cut}`);
		assert.equal(p.retry, 500);
	}
});

test("an event that does not end is refused, not kept in memory", () => {
	const p = new EventParser();
	assert.throws(() => p.push(`data: ${"x".repeat(maxEvent + 1)}`), /too long/);
});

test("the wait doubles up to thirty seconds, and clients spread over half of it", () => {
	assert.equal(wait(0, 0), 500);
	assert.equal(wait(0, 1), 1000);
	assert.equal(wait(3, 1), 8000);
	assert.equal(wait(50, 1), 30_000);
	assert.ok(wait(50, 0) >= 15_000);
});
