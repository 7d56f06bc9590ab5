// Keeps the board up to date: one stream, resumed after a break; polling while there is no stream; nothing while the
// page is hidden for long or the user paused it.

import { CallError, get, request } from "./api.ts";
import { applied, empty, type State, withBoard } from "./board.ts";
import { Clock } from "./clock.ts";
import type { Board, BoardSince, FleetDetail } from "./contract.ts";
import { Store } from "./store.ts";
import { EventParser, type StreamEvent, wait } from "./stream.ts";

/** How the page gets its data. */
export type Connection = "connecting" | "live" | "polling" | "lost" | "paused";

export const state = new Store<State>(empty());
/** told is the server's clock. Every answer is compared with the browser's clock when it comes. */
export const told = new Clock();
export const connection = new Store<Connection>("connecting");
/** detail is the fleet that its page shows, as the stream last told; null for none. */
export const detail = new Store<FleetDetail | null>(null);
/** lost says why there is no connection; empty while there is one. */
export const lost = new Store<string>("");

/**
 * quiet is after how many milliseconds without a byte a stream counts as dead. The server sends a comment each 15 s.
 */
const quiet = 45_000;
/** hiddenFor is after how long a hidden page gives its stream back: browsers allow six of them for each host. */
const hiddenFor = 60_000;
const pollEvery = 5_000;

let fleet = "";
/** asked is the fleet whose details the stream tells. */
let asked = "";
let abort: AbortController | null = null;
let running = false;
let userPaused = false;
let hideTimer = 0;
let attempt = 0;

/** start connects, and stays connected until stop. */
export function start(): void {
	if (running) return;
	running = true;
	document.addEventListener("visibilitychange", shown);
	void run();
}

/** stop ends the connection. */
export function stop(): void {
	running = false;
	document.removeEventListener("visibilitychange", shown);
	abort?.abort();
}

/** follow asks for the details of one fleet in addition, or of none for an empty name. */
export function follow(name: string): void {
	if (fleet === name) return;
	fleet = name;
	detail.value = null;
	abort?.abort("follow"); // the loop connects again at once, from the cursor on
}

/** pauseRefresh stops or continues the updates on the wish of the user. */
export function pauseRefresh(paused: boolean): void {
	userPaused = paused;
	if (paused) {
		connection.value = "paused";
		abort?.abort("paused");
	} else if (running) {
		connection.value = "connecting";
		void run();
	}
}

function shown(): void {
	clearTimeout(hideTimer);
	if (document.hidden) {
		hideTimer = window.setTimeout(() => abort?.abort("hidden"), hiddenFor);
	} else if (!looping && running && !userPaused) {
		void run();
	}
}

// followed is the fleet whose details can be asked for: none while the board lacks it, because the stream and the poll
// would be refused for its sake.
function followed(): string {
	const { board, rows } = state.value;
	return board && !rows.has(fleet) ? "" : fleet;
}

let looping = false;

// run connects until the page is paused, stopped or hidden. Only one loop runs at a time.
async function run(): Promise<void> {
	if (looping) return;
	looping = true;
	try {
		while (running && !userPaused) {
			const why = await once();
			if (why === "hidden" || why === "ended") return;
			if (why === "follow" || why === "paused") continue;
			attempt++;
			await pollFor(wait(attempt, Math.random()));
		}
	} finally {
		looping = false;
	}
}

// once follows one stream to its end and says why it ended.
async function once(): Promise<string> {
	const controller = new AbortController();
	abort = controller;
	let watchdog = 0;
	const alive = () => {
		clearTimeout(watchdog);
		watchdog = window.setTimeout(() => controller.abort("quiet"), quiet);
	};
	try {
		alive();
		const headers: Record<string, string> = { Accept: "text/event-stream" };
		if (state.value.cursor) headers["Last-Event-ID"] = state.value.cursor;
		asked = followed();
		const address = `v1/stream${asked ? `?fleet=${encodeURIComponent(asked)}` : ""}`;
		const answer = await request(address, { headers, signal: controller.signal });
		const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
		if (!reader) return "no body";
		const parser = new EventParser();
		for (;;) {
			const { done, value } = await reader.read();
			if (done) return "closed";
			alive();
			const events = parser.push(value);
			if (connection.value !== "live" && !userPaused) {
				connection.value = "live";
				lost.value = "";
				attempt = 0;
			}
			for (const e of events) take(e);
		}
	} catch (err) {
		if (controller.signal.aborted) return String(controller.signal.reason);
		if (err instanceof CallError && err.status === 401) return "ended";
		lost.value = err instanceof Error ? err.message : String(err);
		return "failed";
	} finally {
		clearTimeout(watchdog);
	}
}

function take(e: StreamEvent): void {
	if (e.event === "fleet") {
		const one = JSON.parse(e.data) as FleetDetail;
		if (one.row?.name === fleet) detail.value = one;
		return;
	}
	state.value = applied(state.value, e);
	told.now(state.value.board?.at, Date.now());
	if (asked !== followed()) abort?.abort("follow"); // the fleet of the page came or went
}

// pollFor reads the board by plain requests for some milliseconds: a proxy may refuse streams and pass these.
async function pollFor(milliseconds: number): Promise<void> {
	const until = performance.now() + milliseconds;
	do {
		if (document.hidden) {
			await pause(Math.min(milliseconds, 1000));
			continue;
		}
		try {
			await poll();
			if (!userPaused) connection.value = "polling";
			lost.value = "";
		} catch (err) {
			if (!userPaused) connection.value = "lost";
			lost.value = err instanceof Error ? err.message : String(err);
			if (err instanceof CallError && err.status === 401) running = false;
		}
		await pause(Math.max(0, Math.min(pollEvery, until - performance.now())));
	} while (running && !userPaused && performance.now() < until);
}

async function poll(): Promise<void> {
	const cursor = state.value.cursor;
	if (!cursor) {
		state.value = withBoard(state.value, await get<Board>("v1/board"));
	} else {
		const since = await get<BoardSince>(`v1/board?since=${encodeURIComponent(cursor)}`);
		let next = since.board ? withBoard(state.value, since.board) : state.value;
		for (const e of since.events ?? []) {
			next = applied(next, { id: e.id, event: e.event, data: JSON.stringify(e.data) });
		}
		state.value = { ...next, cursor: since.cursor };
	}
	told.now(state.value.board?.at, Date.now());
	const name = followed();
	if (name) detail.value = await get<FleetDetail>(`v1/fleets/${encodeURIComponent(name)}`);
}

function pause(milliseconds: number): Promise<void> {
	return new Promise((done) => setTimeout(done, milliseconds));
}
