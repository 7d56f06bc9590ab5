// Small parts of all pages: states with their shapes, times, notices, a copy button and data read from the API.

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get } from "../api.ts";
import { stateWords } from "../board.ts";
import type { FleetState } from "../contract.ts";
import { ago, clock, utc, words } from "../format.ts";
import { state as live, told } from "../live.ts";
import { Store, useStore } from "../store.ts";

// Each state has a shape of its own, so that colour is never the only sign.
const shapes: Record<FleetState, string> = {
	meeting: "M2 8.5 6 12.5 14 4", // a tick
	at_risk: "M8 2 15 14H1ZM8 6.5v3.5M8 12v.6", // a triangle
	missing: "M8 1 15 8 8 15 1 8ZM8 4.5v4.5M8 11v.6", // a diamond
	failing: "M3 3 13 13M13 3 3 13", // a cross
	blind: "M6 6a2 2 0 1 1 2.6 1.9c-.4.1-.6.5-.6 1v.6M8 12.2v.6M8 1a7 7 0 1 0 .01 0", // a question mark in a circle
	paused: "M5.5 3v10M10.5 3v10", // two bars
	not_sized: "M3 3h10v10H3Z", // a square
};

/** Chip says a state by word, shape and colour. */
export function Chip({ state }: { state: FleetState }) {
	return (
		<span class={`chip ${state}`}>
			<svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true">
				<path d={shapes[state] ?? shapes.not_sized} />
			</svg>
			{stateWords[state] ?? words(state)}
		</span>
	);
}

/** Time prints a time in the local zone, with UTC in its title. */
export function Time({ at }: { at: string | undefined }) {
	if (!at) return <span>?</span>;
	return (
		<time dateTime={at} title={utc(at)}>
			{clock(at, new Date(serverNow()))}
		</time>
	);
}

const seconds = new Store(0);
let ticking = false;

// useSeconds draws the component again each second. A hidden page draws nothing.
function useSeconds(): void {
	if (!ticking) {
		ticking = true;
		setInterval(() => seconds.value++, 1000);
	}
	useStore(seconds);
}

/** Ago prints how long ago a time was. The text goes on by itself. */
export function Ago({ at }: { at: string | undefined }) {
	useSeconds();
	if (!at) return <span>?</span>;
	return (
		<time dateTime={at} title={`${clock(at, new Date(0))}, ${utc(at)}`}>
			{ago(at, serverNow())}
		</time>
	);
}

/** serverNow is the time of the server in milliseconds. */
export function serverNow(): number {
	return told.now(live.value.board?.at, Date.now());
}

/** Notice is a message in a frame. */
export function Notice({ kind, children }: { kind: "bad" | "warn" | "plain"; children: ComponentChildren }) {
	return (
		<div class={`notice ${kind}`} role={kind === "bad" ? "alert" : undefined}>
			{children}
		</div>
	);
}

/** CopyButton copies a text, and says so. */
export function CopyButton({ text, label }: { text: string; label: string }) {
	const [said, say] = useState(label);
	const copy = async () => {
		try {
			await navigator.clipboard.writeText(text);
			say("Copied");
		} catch {
			say("Not permitted: select the text and copy it");
		}
		setTimeout(() => say(label), 3000);
	};
	return (
		<button type="button" onClick={() => void copy()}>
			{said}
		</button>
	);
}

/** download offers JSON as a file. */
export function download(name: string, value: unknown): void {
	const address = URL.createObjectURL(
		new Blob([`${JSON.stringify(value, null, 2)}\n`], { type: "application/json" }),
	);
	const a = document.createElement("a");
	a.href = address;
	a.download = name;
	a.click();
	setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Data from the API: value is null until the first answer. */
export interface Fetched<T> {
	value: T | null;
	error: string;
	again: () => void;
}

/**
 * useGet reads path, again when it or turn changes, and every seconds if that is above zero and the page is shown. An
 * empty path reads nothing.
 */
export function useGet<T>(path: string, seconds = 0, turn: unknown = 0): Fetched<T> {
	const [got, set] = useState<{ path: string; value: T | null; error: string }>({ path, value: null, error: "" });
	const [round, setRound] = useState(0);
	useEffect(() => {
		if (!path) return;
		const controller = new AbortController();
		const read = async () => {
			try {
				const value = await get<T>(path, controller.signal);
				set({ path, value, error: "" });
			} catch (err) {
				if (controller.signal.aborted) return;
				const error = err instanceof Error ? err.message : String(err);
				set((old) => ({ path, value: old.path === path ? old.value : null, error }));
			}
		};
		void read();
		const timer = seconds > 0 ? setInterval(() => document.hidden || void read(), seconds * 1000) : 0;
		return () => {
			controller.abort();
			clearInterval(timer);
		};
	}, [path, seconds, turn, round]);
	const current = got.path === path;
	return { value: current ? got.value : null, error: current ? got.error : "", again: () => setRound((n) => n + 1) };
}

/** Loading says that data comes, or why it does not. */
export function Loading({ of, what }: { of: Fetched<unknown>; what: string }) {
	if (of.error) {
		return (
			<Notice kind="bad">
				{of.error}{" "}
				<button type="button" class="quiet" onClick={of.again}>
					Try again
				</button>
			</Notice>
		);
	}
	return of.value === null ? <p class="muted">Reading {what}…</p> : null;
}

/** Figure is a number with its name. */
export function Figure({ label, children, title }: { label: string; children: ComponentChildren; title?: string }) {
	return (
		<div class="figure" title={title}>
			<dt>{label}</dt>
			<dd>{children}</dd>
		</div>
	);
}
