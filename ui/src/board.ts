// The fleet list as a value, and how an event of the stream changes it. Everything here is pure: live.ts feeds it.

import type { Board, Change, FleetRow, FleetState, Known, ShortDecision } from "./contract.ts";
import type { StreamEvent } from "./stream.ts";

/** Everything that the stream has told so far. Values are replaced and never changed in place. */
export interface State {
	board: Board | null;
	/** rows are the fleets by name. A row that did not change stays the same object, so that it is not drawn again. */
	rows: ReadonlyMap<string, FleetRow>;
	/** decisions are the latest ones of all fleets, newest first. */
	decisions: ShortDecision[];
	cursor: string;
	/** incidentsAt counts the events about incidents, so that a page knows when to read them again. */
	incidentsAt: number;
}

/** keptDecisions bounds State.decisions. */
export const keptDecisions = 200;

/** empty is the state before the first event. */
export function empty(): State {
	return { board: null, rows: new Map(), decisions: [], cursor: "", incidentsAt: 0 };
}

/** withBoard replaces everything by a whole board. */
export function withBoard(s: State, board: Board): State {
	return {
		...s,
		board: { ...board, faults: board.faults ?? [] },
		rows: new Map((board.fleets ?? []).map((f) => [f.name, f])),
		cursor: board.cursor ?? s.cursor,
	};
}

/**
 * withChange merges changed fields into the rows. A partial row of an unknown fleet is ignored until a whole one comes.
 */
export function withChange(s: State, c: Change): State {
	if (!s.board) return s;
	const rows = new Map(s.rows);
	for (const name of c.gone ?? []) rows.delete(name);
	for (const part of c.fleets ?? []) {
		const old = rows.get(part.name);
		if (!old && part.state === undefined) continue;
		rows.set(part.name, { ...old, ...part } as FleetRow);
	}
	return { ...s, rows, board: { ...s.board, at: c.at, ...(c.totals ? { totals: c.totals } : {}) } };
}

/** withDecision puts a decision in front of the others. */
export function withDecision(s: State, d: ShortDecision): State {
	if (d.id && s.decisions.some((other) => other.id === d.id)) return s;
	return { ...s, decisions: [d, ...s.decisions].slice(0, keptDecisions) };
}

/**
 * merged puts decisions that the stream told in front of those that were read, both newest first. The stream also tells
 * some that were read already.
 */
export function merged(told: ShortDecision[], read: ShortDecision[]): ShortDecision[] {
	const newest = read[0] ? Date.parse(read[0].at) : Number.NEGATIVE_INFINITY;
	const ids = new Set(read.map((d) => d.id));
	return [...told.filter((d) => Date.parse(d.at) >= newest && !(d.id && ids.has(d.id))), ...read];
}

/** applied returns the state after an event. An unknown event changes nothing: a newer server may send more. */
export function applied(s: State, e: StreamEvent): State {
	const next = changed(s, e);
	return e.id ? { ...next, cursor: e.id } : next;
}

function changed(s: State, e: StreamEvent): State {
	switch (e.event) {
		case "board":
			return withBoard(s, JSON.parse(e.data) as Board);
		case "change":
			return withChange(s, JSON.parse(e.data) as Change);
		case "decision":
			return withDecision(s, JSON.parse(e.data) as ShortDecision);
		case "incidents": {
			const open = (JSON.parse(e.data) as { open?: number }).open ?? 0;
			return s.board ? { ...s, board: { ...s.board, open_incidents: open }, incidentsAt: s.incidentsAt + 1 } : s;
		}
		case "faults": {
			const told = JSON.parse(e.data) as { faults?: string[] } | string[];
			const faults = Array.isArray(told) ? told : (told.faults ?? []);
			return s.board ? { ...s, board: { ...s.board, faults } } : s;
		}
		default:
			return s;
	}
}

/** severity orders states, the worst first. */
export const severity: Record<FleetState, number> = {
	missing: 0,
	failing: 1,
	blind: 2,
	not_sized: 3,
	at_risk: 4,
	paused: 5,
	meeting: 6,
};

/** The orders of the fleet list. */
export type Order = "state" | "name" | "age" | "backlog" | "workers" | "cost";

/** arranged filters and sorts rows. text matches the name; state is one state or empty for all of them. */
export function arranged(rows: Iterable<FleetRow>, text: string, state: string, order: Order): FleetRow[] {
	const wanted = text.trim().toLowerCase();
	const kept = [...rows].filter(
		(r) => (state === "" || r.state === state) && (wanted === "" || r.name.toLowerCase().includes(wanted)),
	);
	const by = (key: (r: FleetRow) => Known) => (a: FleetRow, b: FleetRow) =>
		(key(b) ?? Number.POSITIVE_INFINITY) - (key(a) ?? Number.POSITIVE_INFINITY) || compareNames(a, b);
	const orders: Record<Order, (a: FleetRow, b: FleetRow) => number> = {
		state: (a, b) => rank(a) - rank(b) || compareNames(a, b),
		name: compareNames,
		age: by((r) => (r.oldest_age_s === null ? null : r.oldest_age_s / (r.objective_s || 1))),
		backlog: by((r) => r.backlog),
		workers: by((r) => r.in_service),
		cost: by((r) => r.cost_per_hour ?? 0),
	};
	return kept.sort(orders[order]);
}

function rank(r: FleetRow): number {
	return severity[r.state] ?? severity.not_sized;
}

function compareNames(a: FleetRow, b: FleetRow): number {
	return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
}

/** Totals over all fleets. */
export interface Totals {
	states: [FleetState, number][];
	/** inService counts the known ones; unknown is the number of fleets that it leaves out. */
	inService: number;
	unknown: number;
	/** cost is null when no fleet has a price. */
	cost: Known;
	/** inTime is the share of the last hour over all fleets, weighted by messages. */
	inTime: Known;
}

/** totals sums up the rows. */
export function totals(rows: Iterable<FleetRow>): Totals {
	const states = new Map<FleetState, number>();
	const t: Totals = { states: [], inService: 0, unknown: 0, cost: null, inTime: null };
	let ended = 0;
	let inTime = 0;
	for (const r of rows) {
		states.set(r.state, (states.get(r.state) ?? 0) + 1);
		if (r.in_service === null) t.unknown++;
		else t.inService += r.in_service;
		if (r.cost_per_hour !== null && r.cost_per_hour !== undefined) t.cost = (t.cost ?? 0) + r.cost_per_hour;
		if (r.in_time !== null && r.ended_last_hour) {
			ended += r.ended_last_hour;
			inTime += r.in_time * r.ended_last_hour;
		}
	}
	t.states = [...states].sort((a, b) => (severity[a[0]] ?? 9) - (severity[b[0]] ?? 9));
	if (ended > 0) t.inTime = inTime / ended;
	return t;
}

/** stateWords says a state in words. */
export const stateWords: Record<FleetState, string> = {
	meeting: "meeting",
	at_risk: "at risk",
	missing: "missing",
	failing: "failing",
	blind: "blind",
	paused: "paused",
	not_sized: "not sized",
};

/**
 * news says in one sentence which fleets changed their state between two states, for screen readers; empty when none
 * did. It names at most three fleets.
 */
export function news(before: ReadonlyMap<string, FleetRow>, after: ReadonlyMap<string, FleetRow>): string {
	const changes: string[] = [];
	let more = 0;
	for (const [name, row] of after) {
		const old = before.get(name);
		if (!old || old.state === row.state) continue;
		if (changes.length < 3) changes.push(`${name} is ${stateWords[row.state] ?? row.state}`);
		else more++;
	}
	if (more > 0) changes.push(`${more} more changed`);
	return changes.length > 0 ? `${changes.join(", ")}.` : "";
}
