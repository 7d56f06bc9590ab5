// The answers to an operator's questions about one fleet, in words. Everything here is pure: page/fleet.tsx shows them.

import type { Explanation, FleetDetail, FleetRow, Known } from "./contract.ts";
import { count, duration, money, plural, share } from "./format.ts";

/** Whether messages are in time: a word first, then the share of the last hour. */
export interface Verdict {
	word: "Yes" | "At risk" | "No" | "Unknown";
	text: string;
}

/** inside answers whether a fleet is inside its objective now. The numbers count, not the state: a fleet that fails or
 * is paused may be late or in time. */
export function inside(r: FleetRow): Verdict {
	const missed = r.in_time !== null && r.quantile !== null && r.in_time < r.quantile;
	return { word: word(r, late(r) || missed), text: lastHour(r) };
}

// late tells whether a message that waits now is too late.
function late(r: FleetRow): boolean {
	const over = r.oldest_age_s !== null && r.objective_s !== null && r.oldest_age_s > r.objective_s;
	return over || (r.late ?? 0) > 0;
}

function word(r: FleetRow, missing: boolean): Verdict["word"] {
	if (missing || r.state === "missing") return "No";
	if (r.state === "blind" || r.state === "not_sized" || r.oldest_age_s === null) return "Unknown";
	return r.state === "at_risk" || r.state === "failing" ? "At risk" : "Yes";
}

function lastHour(r: FleetRow): string {
	if (r.ended_last_hour === null) return "the messages of the last hour are unknown";
	if (r.ended_last_hour === 0) return "no message ended in the last hour";
	const of = `of ${plural(r.ended_last_hour, "message")} in the last hour`;
	return r.in_time === null ? `the share in time ${of} is unknown` : `${share(r.in_time)} ${of} were in time`;
}

/** recommended says that the policy recommends more than the maximum; empty if it does not. */
export function recommended(r: FleetRow): string {
	if (!r.at_max || r.max === null) return "";
	return `The policy recommends ${plural(r.decision.wish, "worker")}; the maximum is ${count(r.max)}.`;
}

// attempts tells whether a fleet fails because its attempts do; else its launches do.
function attempts(r: FleetRow): boolean {
	return (r.failed_lately ?? 0) > 0;
}

/** next says what happens if nothing is changed. */
export function next(r: FleetRow): string[] {
	const lines: string[] = [];
	if (r.state === "failing" && r.retrying) lines.push(`${plural(r.retrying, "message")} will be tried again.`);
	if (r.state === "failing") {
		lines.push(
			attempts(r)
				? "More workers do not help while attempts fail."
				: "Launches fail: Muster tries again by itself, less and less often.",
		);
	}
	if (r.state === "blind") lines.push("The fleet may grow and does not shrink until all signals are read again.");
	if (r.state === "paused") lines.push("The size stays as it is until the pause ends.");
	if (r.state === "not_sized") lines.push("Muster tries again by itself; it changes nothing meanwhile.");
	if (r.at_max) lines.push(`The fleet stays at its maximum of ${plural(r.max ?? 0, "worker")}.`);
	if (r.pending) lines.push(`${plural(r.pending, "worker")} ${r.pending === 1 ? "starts" : "start"} up.`);
	return lines.length > 0 ? lines : ["The next poll decides again with new counts."];
}

/** changes says which backlogs would change the size. */
export function changes(e: Explanation | null | undefined, desired: Known): string[] {
	return (e?.changes ?? []).map((c) => {
		if (typeof c.backlog !== "number" || typeof c.desired !== "number") return c.sentence ?? "";
		const side = c.desired > (desired ?? 0) ? "or more" : "or less";
		return `${plural(c.desired, "worker")} at a backlog of ${count(c.backlog)} ${side}.`;
	}).filter((l) => l !== "");
}

/** cost says what the fleet may come to cost: also while no worker is desired. */
export function cost(r: FleetRow, currency = ""): string {
	const one = r.price_per_hour;
	if (one === null) return "The configuration states no price: set price, the cost of a worker hour.";
	const lines = [`A worker costs ${money(one, currency)}`];
	if (r.max !== null) lines.push(`the maximum of ${count(r.max)} costs ${money(one * r.max, currency)}`);
	if (r.at_max) lines.push(`the recommended ${count(r.decision.wish)} would cost ${money(one * r.decision.wish, currency)}`);
	return `${lines.join(", ")} per hour.`;
}

/** safe says what is worth changing, and what is not. */
export function safe(r: FleetRow): string[] {
	switch (r.state) {
		case "failing":
			if (!attempts(r)) return ["Mend what the sentence at the top names: launched workers do not begin to work."];
			return [
				"Mend the work first: its failed attempts are below.",
				"A pause keeps it from growing meanwhile; no message is lost.",
			];
		case "blind":
			return [
				"Mend the signal first: muster doctor tries each one.",
				"Reserve and a higher minimum add workers meanwhile.",
			];
		case "not_sized":
			return ["Mend what the sentence at the top names. Muster does not change the fleet meanwhile."];
		case "paused":
			return ["Resume, or wait until the pause ends."];
	}
	if (r.at_max) return ["Raise max in the configuration to let it grow: Limits stays within the configured maximum."];
	if (r.state === "missing" && !late(r)) return ["No message is late any more: the share of the last hour recovers by itself."];
	if (r.state === "missing") return ["Reserve adds workers at once, up to the maximum."];
	return ["Nothing needs a change."];
}

/** deadLetters is the text of a fleet's dead letters, which may be unknown because no queue keeps them. */
export function deadLetters(r: FleetRow, shown: FleetDetail | null): string {
	if (r.dead_letters !== null) return count(r.dead_letters);
	const queues = shown?.status?.observation?.queues;
	return queues && queues.every((q) => !q.dead_letters?.at) ? "no queue" : "unknown";
}

/** arrivals says how much work comes, and how much of it will be in time. */
export function arrivals(r: FleetRow, rate: (n: Known) => string): string {
	const lines = [
		r.arriving_per_s === null ? "The arrival rate is unknown" : `${rate(r.arriving_per_s)} messages arrive each second`,
	];
	if (r.expected_in_time !== null) lines.push(`${share(r.expected_in_time)} of new ones will be in time at this size`);
	return `${lines.join("; ")}.`;
}

/** waited says how long the oldest message has waited. */
export function waited(r: FleetRow): string {
	return r.oldest_age_s === null
		? "The age of the oldest message is unknown."
		: `The oldest message has waited ${duration(r.oldest_age_s)}.`;
}
