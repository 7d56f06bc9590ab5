// Calls to the API. Every address is relative, so that the page works below any path prefix. The cookie of the session
// goes along by itself; writes carry the session's CSRF token too, because browsers send a cookie to every port of a
// host, and another program on this machine must not be able to use it for changes.

import type { Session } from "./contract.ts";
import { Store } from "./store.ts";

/** session is null while nobody is logged in, and undefined until that is known. */
export const session = new Store<Session | null | undefined>(undefined);

const csrfKey = "muster-csrf";

/** CallError is a request that failed. status is 0 when there was no answer. */
export class CallError extends Error {
	constructor(
		readonly status: number,
		message: string,
	) {
		super(message);
	}
}

function csrf(): string {
	try {
		return localStorage.getItem(csrfKey) ?? "";
	} catch {
		return ""; // a browser may forbid storage; the page can then only read
	}
}

function keep(token: string): void {
	try {
		if (token) localStorage.setItem(csrfKey, token);
		else localStorage.removeItem(csrfKey);
	} catch {
		// see csrf
	}
}

/** request sends a request and returns the answer when its status is a success. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
	const headers = new Headers(init.headers);
	if (init.method && init.method !== "GET") {
		headers.set("X-Muster-CSRF", csrf());
		if (init.body && !headers.has("Content-Type")) headers.set("Content-Type", "application/json");
	}
	let answer: Response;
	try {
		answer = await fetch(path, { ...init, headers, credentials: "same-origin" });
	} catch (err) {
		if (err instanceof DOMException && err.name === "AbortError") throw err;
		throw new CallError(0, "Muster does not answer. Is muster up still running?");
	}
	if (answer.ok) return answer;
	if (answer.status === 401) session.value = null;
	throw new CallError(answer.status, await reason(answer));
}

// reason is the error that the server stated, or its status.
async function reason(answer: Response): Promise<string> {
	try {
		const body = (await answer.json()) as { error?: string };
		if (body.error) return body.error;
	} catch {
		// not from Muster, but from a proxy before it
	}
	return `the server answered with status ${answer.status}`;
}

/** get reads JSON. */
export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
	return (await (await request(path, signal ? { signal } : {})).json()) as T;
}

/** send writes JSON and reads the answer, if there is one. */
export async function send<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
	const init: RequestInit = { method };
	if (body !== undefined) init.body = typeof body === "string" ? body : JSON.stringify(body);
	if (signal) init.signal = signal;
	const text = await (await request(path, init)).text();
	return (text ? JSON.parse(text) : {}) as T;
}

/** login exchanges the code of a one-time link for a session. */
export async function login(code: string): Promise<void> {
	const s = await send<Session>("POST", "v1/session", { code });
	keep(s.csrf ?? "");
	session.value = s;
}

/** resume looks whether this browser has a session. */
export async function resume(): Promise<void> {
	try {
		session.value = await get<Session>("v1/session");
	} catch (err) {
		if (!(err instanceof CallError) || err.status !== 401) throw err;
		session.value = null;
	}
}

/** logout ends the session. */
export async function logout(): Promise<void> {
	await send("DELETE", "v1/session");
	keep("");
	session.value = null;
}

/** mayWrite tells whether this browser can change things: the role permits it, and the CSRF token is here. */
export function mayWrite(): boolean {
	return session.value?.writes === true && csrf() !== "";
}
