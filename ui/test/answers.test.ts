import assert from "node:assert/strict";
import { test } from "node:test";
import { changes, cost, deadLetters, inside, next, recommended, safe } from "../src/answers.ts";
import { merged } from "../src/board.ts";
import type { FleetDetail, FleetRow, ShortDecision } from "../src/contract.ts";

function row(change: Partial<FleetRow> = {}): FleetRow {
	return {
		name: "a",
		state: "meeting",
		objective_s: 60,
		quantile: 0.99,
		oldest_age_s: 6,
		in_time: 1,
		ended_last_hour: 10,
		late: 0,
		retrying: 0,
		pending: 0,
		desired: 2,
		max: 4,
		at_max: false,
		cost_per_hour: 0.2,
		price_per_hour: 0.1,
		dead_letters: null,
		decision: { wish: 2 },
		...change,
	} as FleetRow;
}

const word = (change: Partial<FleetRow>) => inside(row(change)).word;

test("whether a fleet is inside its objective follows from its numbers, not from its state alone", () => {
	assert.equal(word({}), "Yes");
	assert.equal(word({ oldest_age_s: 61 }), "No");
	assert.equal(word({ late: 1 }), "No");
	assert.equal(word({ in_time: 0.98 }), "No");
	assert.equal(word({ state: "missing" }), "No");
	assert.equal(word({ state: "paused" }), "Yes");
	assert.equal(word({ state: "paused", late: 3 }), "No");
	assert.equal(word({ state: "failing" }), "At risk");
	assert.equal(word({ state: "failing", in_time: 0 }), "No");
	assert.equal(word({ state: "at_risk" }), "At risk");
	assert.equal(word({ state: "blind" }), "Unknown");
	assert.equal(word({ oldest_age_s: null }), "Unknown");
	assert.equal(word({ state: "blind", oldest_age_s: 61 }), "No", "what is known to be late is late");
});

test("a share that is unknown is called unknown, and not a question mark of messages", () => {
	assert.equal(inside(row()).text, "100 % of 10 messages in the last hour were in time");
	assert.equal(inside(row({ ended_last_hour: 0, in_time: null })).text, "no message ended in the last hour");
	assert.match(inside(row({ in_time: null })).text, /of 10 messages in the last hour is unknown/);
	assert.match(inside(row({ ended_last_hour: null })).text, /unknown/);
});

test("a fleet at its maximum says what it needs, what that costs, and where the maximum is raised", () => {
	const r = row({ state: "missing", at_max: true, decision: { wish: 34 } as ShortDecision });
	assert.equal(recommended(r), "The policy recommends 34 workers; the maximum is 4.");
	assert.equal(cost(r), "A worker costs 0.10, the maximum of 4 costs 0.40, the recommended 34 would cost 3.40 per hour.");
	assert.deepEqual(next(r), ["The fleet stays at its maximum of 4 workers."]);
	assert.match(safe(r).join(), /Raise max in the configuration/);
	assert.equal(recommended(row()), "");
});

test("a fleet that only was late needs no workers for that", () => {
	assert.match(safe(row({ state: "missing", in_time: 0.5 })).join(), /recovers by itself/);
	assert.match(safe(row({ state: "missing", in_time: 0.5, late: 2 })).join(), /Reserve adds workers/);
});

test("what a worker and the maximum cost is said while none is desired, too", () => {
	assert.match(cost(row({ cost_per_hour: null, price_per_hour: null })), /states no price/);
	const said = "A worker costs 0.10, the maximum of 4 costs 0.40 per hour.";
	assert.equal(cost(row({ cost_per_hour: 0, desired: 0 })), said);
});

test("every state says what comes next and what is worth a change", () => {
	for (const state of ["missing", "failing", "blind", "not_sized", "at_risk", "paused", "meeting"] as const) {
		assert.ok(next(row({ state })).length > 0 && safe(row({ state })).length > 0, state);
	}
	assert.equal(next(row({ pending: 1 }))[0], "1 worker starts up.");
	assert.deepEqual(next(row({ state: "failing", failed_lately: 3, retrying: 3 })), [
		"3 messages will be tried again.",
		"More workers do not help while attempts fail.",
	]);
});

test("a backlog that would change the size is told with the size", () => {
	const e = { changes: [{ backlog: 282, desired: 5, sentence: "" }, { backlog: 2, desired: 1 }, { sentence: "other" }] };
	assert.deepEqual(changes(e, 2), [
		"5 workers at a backlog of 282 or more.",
		"1 worker at a backlog of 2 or less.",
		"other",
	]);
	assert.deepEqual(changes(null, 2), []);
});

test("a fleet without a dead-letter queue says so, and one whose count cannot be read does not", () => {
	const of = (queues: object[]) => ({ status: { observation: { queues } } }) as unknown as FleetDetail;
	assert.equal(deadLetters(row({ dead_letters: 3 }), null), "3");
	assert.equal(deadLetters(row(), of([{}])), "no queue");
	assert.equal(deadLetters(row(), of([{ dead_letters: { at: "2026-03-01T12:00:00Z", known: false } }])), "unknown");
	assert.equal(deadLetters(row(), null), "unknown");
});

test("decisions that the stream tells stand once in front of those that were read", () => {
	const d = (id: string, second: number) =>
		({ id, at: new Date(Date.UTC(2026, 2, 1, 12, 0, second)).toISOString() }) as ShortDecision;
	const read = [d("a/1.3", 3), d("a/1.2", 2)];
	const ids = (all: ShortDecision[]) => all.map((x) => x.id).join(" ");
	assert.equal(ids(merged([d("a/1.4", 4), d("a/1.3", 3), d("a/1.1", 1)], read)), "a/1.4 a/1.3 a/1.2");
	assert.equal(ids(merged([d("a/1.4", 4)], [])), "a/1.4");
});

test("a fleet whose launches fail is not told of failed attempts", () => {
	const launches = row({ state: "failing", failed_lately: 0 });
	assert.match(next(launches).join(), /Launches fail/);
	assert.match(safe(launches).join(), /do not begin to work/);
	const attempts = row({ state: "failing", failed_lately: 3 });
	assert.match(next(attempts).join(), /More workers do not help/);
	assert.match(safe(attempts).join(), /Mend the work first/);
});
