// The request to the simulator and its answer, as package app/playground has them. Everything here is pure.

import type { Replay } from "../contract.ts";

/** What to simulate. */
export interface Request {
	list?: boolean;
	trace?: string;
	file?: string;
	service?: string;
	service_cv?: number;
	spread?: string;
	configuration?: string;
	policy?: string;
	set?: string[];
	others?: string[];
	bound_only?: boolean;
}

/** A built-in trace, with a configuration to begin with. */
export interface BuiltIn {
	name: string;
	what: string;
	configuration: string;
}

/** The answer: one of its fields is set. */
export interface Reply {
	found?: Replay;
	traces?: BuiltIn[];
	error?: string;
}

/** What the page sends to its worker. module is the compiled simulator. */
export interface Job {
	module: WebAssembly.Module;
	request: string;
	content: Uint8Array<ArrayBuffer> | null;
}

/** What the worker sends back: shares of the work, then the answer. */
export type Told = { share: number } | { reply: string };

/** largest bounds a file, in bytes: app/playground refuses more. */
export const largest = 64 * 2 ** 20;

/** The settings of a file that has only counts, as the user wrote them. */
export interface Counts {
	service: string;
	cv: string;
	spread: string;
}

/**
 * counted returns the part of a request that says how long the work of counted messages takes, or what is wrong. Without
 * a duration nothing is said: other files have durations of their own.
 */
export function counted(c: Counts): Partial<Request> | { error: string } {
	const service = c.service.trim();
	if (service === "") return {};
	const cv = c.cv.trim() === "" ? 0 : Number(c.cv);
	if (!Number.isFinite(cv) || cv < 0) return { error: `The variation is ${c.cv}: write a number such as 0.5.` };
	return { service, service_cv: cv, spread: c.spread };
}

/** shifted returns r with another start. A trace has no date of its own, and a day is read best from midnight on. */
export function shifted(r: Replay, from: Date): Replay {
	const span = Date.parse(r.to) - Date.parse(r.from);
	return { ...r, from: from.toISOString(), to: new Date(from.getTime() + span).toISOString() };
}
