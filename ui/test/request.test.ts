import assert from "node:assert/strict";
import { test } from "node:test";
import { emptyForm, filled, mayRelease, planText, releasePlan, releaseText, timeOfDay } from "../src/override.ts";
import { link, parse } from "../src/route.ts";
import type { Member, Replay, Run } from "../src/contract.ts";
import { replayed, settings } from "../src/whatif.ts";

const now = new Date(2026, 2, 1, 12, 0, 0).getTime();

test("the plan of a release says what stops, and whether another worker comes", () => {
	const plan = { from: 2, to: 1, launch: 0, stop: 1, stop_idle: 1, stop_busy: 0, sentence: "" };
	assert.deepEqual(releasePlan({ plan }), ["Would stop 1 idle worker, 0 busy.", "No other would be launched: 2 workers → 1."]);
	assert.deepEqual(releasePlan({ plan: { ...plan, to: 2, launch: 1, stop_idle: 0, stop_busy: 1 } }), [
		"Would stop 0 idle workers, 1 busy; it finishes first.",
		"Another one would be launched in its place.",
	]);
	assert.deepEqual(releasePlan({}), []);
});

test("an action needs a reason and an end, and is refused before it is sent", () => {
	const form = { ...emptyForm(), reason: "rollout" };
	assert.deepEqual(filled("pause", form, now).body, {
		kind: "pause",
		reason: "rollout",
		for_s: 1800,
		by: "dashboard",
	});
	assert.match(filled("pause", emptyForm(), now).error ?? "", /reason/);
	assert.match(filled("pause", { ...form, until: "soon" }, now).error ?? "", /ends/);
	assert.match(filled("pause", { ...form, until: "31d" }, now).error ?? "", /30 days/);
	assert.match(filled("limits", form, now).error ?? "", /minimum/);
	assert.match(filled("limits", { ...form, min: "9", max: "3" }, now).error ?? "", /above/);
	assert.match(filled("limits", { ...form, max: "-1" }, now).error ?? "", /whole number/);
	assert.match(filled("reserve", { ...form, workers: "0" }, now).error ?? "", /how many/);
	assert.equal(filled("limits", { ...form, max: "0" }, now).body?.max, 0);
	assert.deepEqual(filled("resume", emptyForm(), now).body, {});
});

test("a reservation begins at the next time of that name", () => {
	const form = { ...emptyForm(), reason: "batch", workers: "40", at: "14:00" };
	assert.equal(filled("reserve", form, now).body?.begin, new Date(2026, 2, 1, 14, 0).toISOString());
	assert.equal(timeOfDay("11:59", now), new Date(2026, 2, 2, 11, 59).getTime());
	for (const bad of ["24:00", "12:60", "noon", "1400"]) assert.equal(timeOfDay(bad, now), null);
});

test("a plan says what would be stopped and what never is", () => {
	const plan = { from: 8, to: 2, launch: 0, stop: 6, stop_idle: 6, stop_busy: 0, sentence: "down from 8 to 2" };
	assert.deepEqual(planText({ plan }), [
		"Would stop 6 idle workers, 0 busy; a busy one finishes first.",
		"Desired 8 → 2: down from 8 to 2",
	]);
	assert.match(planText({ plan: { ...plan, stop_idle: 0 } })[0] ?? "", /service chooses/);
	assert.match(planText({ plan: { ...plan, stop: 0, launch: 3 } })[0] ?? "", /launch 3 workers/);
	assert.match(planText({ plan: { ...plan, stop: 0 } })[0] ?? "", /No worker/);
});

test("only a worker in service can be released, and the text says what becomes of its messages", () => {
	const member = (state: string, busy: number): Member => ({ id: "m", state, busy, slots: 2, launched_at: "" });
	const states = ["ordered", "booting", "idle", "busy", "draining", "released", "lost", "ended"];
	assert.deepEqual(
		states.filter((s) => mayRelease(member(s, 0))),
		["idle", "busy"],
	);
	assert.match(releaseText(member("idle", 0)), /has no message/);
	assert.match(releaseText(member("busy", 1)), /finishes the message it has/);
	assert.match(releaseText(member("busy", 2)), /finishes the 2 messages/);
	assert.match(releaseText(member("draining", 1)), /not in service any more: it is draining/);
});

test("an address names a page, and survives every name", () => {
	for (const name of ["thumbs", "a/b", "ü ?#&=%", `"><script>`, "jobs/1.42"]) {
		assert.deepEqual(parse(link("fleet", name, { q: name, none: undefined })), {
			page: "fleet",
			name,
			query: { q: name },
		});
	}
	assert.equal(link("fleets"), "#/fleets");
	for (const hash of ["", "#", "#/", "#/nonsense/x", "#login=abc"]) assert.equal(parse(hash).page, "fleets");
	assert.equal(parse("#/fleet/%E0%A4%A").name, "%E0%A4%A");
});

test("keys of a simulation are read line by line", () => {
	assert.deepEqual(settings("policy.target: 0.7\n\n# more\nmax=40").keys, ["policy.target=0.7", "max=40"]);
	assert.match(settings("max: 40\nnonsense").error ?? "", /Line 2/);
});

test("recorded curves stand beside replayed ones at the same times, with gaps where nothing was recorded", () => {
	const run = (kind: string, sizes: number[], failure?: string) =>
		({
			name: kind,
			kind,
			failure,
			curves: { step_s: 10, desired: sizes, in_service: sizes, backlog: [], oldest_age_s: [] },
		}) as unknown as Run;
	const replay = {
		from: "1970-01-01T00:00:00Z",
		objective_s: 60,
		runs: [{ ...run("recorded", []), curves: null }, run("present", [1, 2, 3]), run("changed", [4, 5]), run("other", [9, 9, 9])],
	} as unknown as Replay;
	const recorded = { from: "", to: "", step_s: 10, at: [9, 19], columns: { in_service: [7, null] } };
	const got = replayed(replay, recorded);
	assert.deepEqual(got.at, [0, 10, 20]);
	assert.deepEqual(got.columns.present_in_service, [1, 2, 3]);
	assert.deepEqual(got.columns.changed_in_service, [4, 5, null], "a shorter run ends with gaps");
	assert.deepEqual(got.columns.recorded_in_service, [7, 7, null]);
	assert.deepEqual(got.columns.objective_s, [60, 60, 60]);
	assert.equal(
		Object.keys(got.columns).some((k) => k.startsWith("other")),
		false,
	);
	assert.deepEqual(replayed({ ...replay, runs: [run("present", [1], "it failed")] }, null), { at: [], columns: {} });
});
