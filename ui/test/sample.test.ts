import assert from "node:assert/strict";
import { test } from "node:test";
import type { Known } from "../src/contract.ts";
import { appended, breaches, fitted, latest, nearest, path, thin } from "../src/sample.ts";
import { visible } from "../src/virtual.ts";

test("thinning keeps the extremes and the gaps, and the bound", () => {
	const at = Array.from({ length: 10_000 }, (_, i) => i);
	const values: Known[] = at.map((i) => (i >= 4000 && i < 5000 ? null : i === 7777 ? 1000 : i === 2222 ? -5 : 1));
	const got = thin({ at, columns: { v: values, other: at } }, "v", 100);
	assert.ok(got.at.length <= 110, `${got.at.length} rows`);
	assert.ok(got.columns.v?.includes(1000) && got.columns.v.includes(-5), "an extreme is gone");
	assert.ok(got.columns.v?.includes(null), "the gap is gone");
	assert.deepEqual(got.columns.other, got.at, "the columns moved against each other");
	assert.deepEqual(
		[...got.at].sort((a, b) => a - b),
		got.at,
	);
	const few = { at: [1, 2], columns: { v: [1, null] } };
	assert.equal(thin(few, "v", 100), few);
});

test("the last numbers are those of the last time at which anything is known", () => {
	const at = [0, 1, 2];
	assert.equal(latest({ at, columns: { desired: [1, 2, null], backlog: [5, null, null] } }), 1);
	assert.equal(latest({ at, columns: { desired: [null, null, null] } }), -1);
	assert.equal(latest({ at: [], columns: {} }), -1);
});

test("a breach ends where the age is known to be below, or is not known", () => {
	const at = [0, 1, 2, 3, 4, 5, 6, 7];
	const limit = at.map(() => 10);
	assert.deepEqual(breaches(at, [1, 11, 12, 3, null, 20, null, 20], limit), [
		{ from: 1, to: 3 },
		{ from: 5, to: 5 },
		{ from: 7, to: 7 },
	]);
	assert.deepEqual(
		breaches(
			at,
			at.map(() => 99),
			at.map(() => null),
		),
		[],
	);
	assert.deepEqual(
		breaches(
			at,
			at.map(() => 10),
			limit,
		),
		[],
		"a message at the objective is in time",
	);
});

test("a live point continues the curves, and a pause is a gap", () => {
	const s = { at: [10, 11], columns: { a: [1, 2] as Known[], b: [5, 6] as Known[] } };
	assert.deepEqual(appended(s, 12, { a: 3 }, 11, 30), { at: [11, 12], columns: { a: [2, 3], b: [6, null] } });
	assert.deepEqual(appended(s, 11, { a: 9, b: 9 }, 0, 30), { at: [10, 11], columns: { a: [1, 9], b: [5, 9] } });
	assert.equal(appended(s, 9, { a: 1 }, 0, 30), s, "an old point is ignored");
	assert.deepEqual(appended(s, 100, { a: 3, b: 4 }, 0, 30), {
		at: [10, 11, 26, 100],
		columns: { a: [1, 2, null, 3], b: [5, 6, null, 4] },
	});
	assert.deepEqual(s.at, [10, 11], "the curves before were changed");
});

test("the nearest time is found", () => {
	assert.equal(nearest([], 5), -1);
	for (const [t, want] of [
		[-9, 0],
		[10, 0],
		[14, 0],
		[16, 1],
		[99, 2],
	] as const)
		assert.equal(nearest([10, 20, 30], t), want);
});

test("a small curve is broken where values are unknown", () => {
	assert.equal(path([0, 10, null, 5], 30, 10, 10), "M0.0 10.0L10.0 0.0M30.0 5.0h0", "a lone value is a dot");
	assert.equal(path([0], 30, 10, 10), "");
});

test("a long list draws the rows on the screen and few others", () => {
	assert.deepEqual(visible(1000, 50, 5000, 800, 2), { first: 98, last: 118 });
	assert.deepEqual(visible(1000, 50, -300, 800, 2), { first: 0, last: 12 });
	assert.deepEqual(visible(3, 50, 0, 800), { first: 0, last: 3 });
	assert.deepEqual(visible(0, 50, 0, 800), { first: 0, last: 0 });
	assert.deepEqual(visible(10, 50, 99999, 800), { first: 10, last: 10 });
});

test("a chart begins with the first known value, but is never narrower than two minutes", () => {
	const at = [0, 100, 200, 300, 400];
	assert.deepEqual(
		fitted([0, 400], { at, columns: { a: [null, null, 5, 5, 5], b: [null, 1, 1, 1, 1] } }),
		[100, 400],
	);
	assert.deepEqual(fitted([0, 400], { at, columns: { a: [null, null, null, null, 5] } }), [280, 400]);
	assert.deepEqual(fitted([0, 400], { at, columns: { a: [null, null, null, null, null] } }), [0, 400]);
	assert.deepEqual(fitted([50, 400], { at, columns: { a: [1, 1, 1, 1, 1] } }), [50, 400]);
});
