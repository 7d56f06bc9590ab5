import assert from "node:assert/strict";
import { test } from "node:test";
import { applied, arranged, empty, keptDecisions, news, type State, totals } from "../src/board.ts";
import type { FleetRow } from "../src/contract.ts";

function row(name: string, change: Partial<FleetRow> = {}): FleetRow {
	return {
		name,
		state: "meeting",
		why: "",
		objective_s: 60,
		oldest_age_s: 6,
		backlog: 1,
		in_service: 2,
		in_time: 1,
		ended_last_hour: 10,
		cost_per_hour: null,
		...change,
	} as FleetRow;
}

function board(...fleets: FleetRow[]): State {
	const b = { at: "2026-03-01T12:00:00Z", cursor: "m-1", version: "1", open_incidents: 0, fleets };
	return applied(empty(), { id: "m-1", event: "board", data: JSON.stringify(b) });
}

const told = (s: State, event: string, data: unknown, id = "m-2") =>
	applied(s, { id, event, data: JSON.stringify(data) });

test("a change touches the rows it names, and the others stay the same objects", () => {
	const before = board(row("a"), row("b"), row("c"));
	const after = told(before, "change", {
		at: "2026-03-01T12:00:01Z",
		fleets: [{ name: "a", backlog: null }],
		gone: ["c"],
	});
	assert.equal(after.rows.get("a")?.backlog, null);
	assert.equal(after.rows.get("a")?.in_service, 2);
	assert.equal(after.rows.get("b"), before.rows.get("b"));
	assert.equal(after.rows.has("c"), false);
	assert.equal(after.board?.at, "2026-03-01T12:00:01Z");
	assert.equal(after.cursor, "m-2");
	assert.equal(before.rows.get("a")?.backlog, 1, "the state before was changed");
});

test("a new fleet comes with its whole row; a part of an unknown one is not shown", () => {
	const s = told(board(), "change", {
		at: "2026-03-01T12:00:01Z",
		fleets: [{ name: "half", backlog: 1 }, row("whole")],
		gone: [],
	});
	assert.deepEqual([...s.rows.keys()], ["whole"]);
});

test("an unknown event changes nothing but the cursor", () => {
	const s = told(board(row("a")), "later-version", { any: "thing" }, "m-9");
	assert.equal(s.cursor, "m-9");
	assert.equal(s.rows.size, 1);
});

test("events before the first board are ignored", () => {
	assert.equal(told(empty(), "change", { at: "x", fleets: [row("a")] }).rows.size, 0);
});

test("decisions are kept once each, the newest first, and not without bound", () => {
	let s = board(row("a"));
	for (let i = 0; i < keptDecisions + 20; i++) s = told(s, "decision", { id: `a/1.${i}`, sentence: "" });
	s = told(s, "decision", { id: `a/1.${keptDecisions + 19}`, sentence: "" });
	assert.equal(s.decisions.length, keptDecisions);
	assert.equal(s.decisions[0]?.id, `a/1.${keptDecisions + 19}`);
});

test("incidents and faults are counted and listed", () => {
	const s = told(told(board(row("a")), "incidents", { open: 3 }), "faults", { faults: ["the history is damaged"] });
	assert.equal(s.board?.open_incidents, 3);
	assert.equal(s.incidentsAt, 1);
	assert.deepEqual(s.board?.faults, ["the history is damaged"]);
});

test("the worst fleets come first, and an unknown age before a known one", () => {
	const rows = [
		row("z"),
		row("a"),
		row("late", { state: "missing" }),
		row("dark", { state: "blind", oldest_age_s: null }),
	];
	assert.deepEqual(
		arranged(rows, "", "", "state").map((r) => r.name),
		["late", "dark", "a", "z"],
	);
	assert.deepEqual(arranged(rows, "", "", "age")[0]?.name, "dark");
	assert.deepEqual(
		arranged(rows, "AR", "", "name").map((r) => r.name),
		["dark"],
	);
	assert.deepEqual(
		arranged(rows, "", "missing", "name").map((r) => r.name),
		["late"],
	);
});

test("totals leave out what is unknown, and say how many that are", () => {
	const t = totals([
		row("a", { in_time: 0.5, ended_last_hour: 30 }),
		row("b"),
		row("c", { in_service: null, in_time: null, state: "blind" }),
	]);
	assert.equal(t.inService, 4);
	assert.equal(t.unknown, 1);
	assert.equal(t.cost, null);
	assert.equal(t.inTime, (0.5 * 30 + 10) / 40);
	assert.deepEqual(t.states, [
		["blind", 1],
		["meeting", 2],
	]);
});

test("news name the fleets whose state changed, and no other", () => {
	const before = board(row("a"), row("b"), row("c"), row("d"), row("e")).rows;
	assert.equal(news(before, before), "");
	const after = new Map(before);
	after.set("a", row("a", { state: "missing" }));
	after.set("b", row("b", { backlog: 99 }));
	assert.equal(news(before, after), "a is missing.");
	for (const n of ["c", "d", "e"]) after.set(n, row(n, { state: "at_risk" }));
	assert.equal(news(before, after), "a is missing, c is at risk, d is at risk, 1 more changed.");
});
