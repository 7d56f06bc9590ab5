import assert from "node:assert/strict";
import { test } from "node:test";
import type { Replay } from "../src/contract.ts";
import { counted, shifted } from "../src/playground/job.ts";

test("a file of counts has a mean duration, and other files have none", () => {
	const counts = { service: " 10s ", cv: "0.5", spread: "poisson" };
	assert.deepEqual(counted(counts), { service: "10s", service_cv: 0.5, spread: "poisson" });
	assert.deepEqual(counted({ ...counts, service: " " }), {});
	for (const cv of ["-1", "much", "1,5"]) assert.match((counted({ ...counts, cv }) as { error: string }).error, /0\.5/);
});

test("a trace is shown from another start on, and stays as long as it is", () => {
	const r = { from: "2026-01-05T00:00:00Z", to: "2026-01-05T04:05:59.5Z", runs: [] } as unknown as Replay;
	const moved = shifted(r, new Date("2026-01-04T23:00:00Z"));
	assert.equal(moved.from, "2026-01-04T23:00:00.000Z");
	assert.equal(moved.to, "2026-01-05T03:05:59.500Z");
});
