import assert from "node:assert/strict";
import { test } from "node:test";
import { Clock } from "../src/clock.ts";
import {
	ago,
	bytes,
	clock,
	count,
	decimal,
	duration,
	money,
	named,
	period,
	plural,
	quantile,
	share,
	utc,
	words,
} from "../src/format.ts";

test("an unknown number prints as a question mark and never as zero", () => {
	for (const print of [duration, count, decimal, share, money, bytes]) {
		assert.equal(print(null), "?");
	}
	assert.equal(duration(Number.NaN), "?");
	assert.equal(ago("not a time", 0), "?");
	assert.equal(clock("not a time"), "?");
});

test("a duration has at most two units, and rounds to the smaller one", () => {
	const rows: [number, string][] = [
		[0, "0s"],
		[0.0001, "1ms"],
		[0.25, "250ms"],
		[0.9999, "1s"],
		[4.2, "4.2s"],
		[9.96, "10s"],
		[59.6, "1m"],
		[90, "1m30s"],
		[3599.6, "1h"],
		[3661, "1h1m"],
		[86399, "1d"],
		[90061, "1d1h"],
		[2592000, "30d"],
		[-5, "-5s"],
	];
	for (const [seconds, want] of rows) assert.equal(duration(seconds), want, String(seconds));
});

test("a share is 100 % or 0 % only when it is exactly that", () => {
	const rows: [number, string][] = [
		[0, "0 %"],
		[0.0001, "<0.1 %"],
		[0.5, "50 %"],
		[0.9876, "98.7 %"],
		[0.9896, "98.9 %"], // below an objective of 99 %
		[0.957, "95.7 %"],
		[0.99999, "99.9 %"],
		[1, "100 %"],
	];
	for (const [s, want] of rows) assert.equal(share(s), want);
});

test("the share of an objective keeps its digits", () => {
	for (const [q, want] of [[0.5, "50 %"], [0.99, "99 %"], [0.999, "99.9 %"], [0.9999, "99.99 %"]] as const) {
		assert.equal(quantile(q), want);
	}
	assert.equal(quantile(null), "?");
});

test("numbers keep what matters", () => {
	assert.equal(count(1234567), "1235k");
	assert.equal(count(12_345_678), "12.3M");
	assert.equal(count(5230), "5\u202f230");
	assert.equal(decimal(2.3456), "2.35");
	assert.equal(decimal(0.00012), "1.2e-4");
	assert.equal(decimal(40), "40");
	assert.equal(money(0.0421), "0.0421");
	assert.equal(money(0.04), "0.04");
	assert.equal(money(0.041), "0.041");
	assert.equal(money(12, "$"), "$12.00");
	assert.equal(bytes(1536), "1.5 KiB");
	assert.equal(plural(1, "worker"), "1 worker");
	assert.equal(plural(0, "worker"), "0 workers");
	assert.equal(words("rate_limited"), "rate limited");
});

test("a period is read as people write it", () => {
	assert.equal(period("90s"), 90);
	assert.equal(period(" 1h30m "), 5400);
	assert.equal(period("1.5d"), 129600);
	for (const bad of ["", "30", "m30", "1h 30m", "-5m", "0s", "1w"]) assert.equal(period(bad), null, bad);
});

test("times are local, with the date on other days, and UTC is there too", () => {
	const now = new Date(2026, 2, 1, 12, 0, 0);
	assert.equal(clock(new Date(2026, 2, 1, 9, 5, 7), now), "09:05:07");
	assert.equal(clock(new Date(2026, 1, 28, 9, 5, 7), now), "2026-02-28 09:05:07");
	assert.equal(utc("2026-03-01T11:00:00.123Z"), "2026-03-01 11:00:00 UTC");
	assert.equal(ago("2026-03-01T11:00:00Z", Date.parse("2026-03-01T11:00:01Z")), "now");
	assert.equal(ago("2026-03-01T11:00:00Z", Date.parse("2026-03-01T11:05:00Z")), "5m ago");
	assert.equal(ago("2026-03-01T11:05:00Z", Date.parse("2026-03-01T11:00:00Z")), "in 5m");
});

test("a named number of seconds is a duration", () => {
	assert.deepEqual(named("mpd_s", 2.31), ["mpd", "2.3s"]);
	assert.deepEqual(named("arriving_per_s", 2.31), ["arriving per s", "2.31"]);
	assert.deepEqual(named("max", 20), ["max", "20"]);
});

test("the server's clock goes on while nothing changes, whatever the browser's clock shows", () => {
	const told = new Clock();
	const at = "2026-01-02T12:00:00Z";
	assert.equal(told.now(undefined, 5), 5);
	assert.equal(told.now(at, 1000), Date.parse(at));
	assert.equal(told.now(at, 3_601_000), Date.parse(at) + 3_600_000, "an hour without an answer");
	assert.equal(told.now("2026-01-02T13:00:02Z", 3_602_000), Date.parse("2026-01-02T13:00:02Z"));
	assert.equal(told.now("2026-01-02T13:00:03Z", 7_201_000), Date.parse("2026-01-02T14:00:01Z"), "an old answer");
});
