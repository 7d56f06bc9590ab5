// Turns numbers and times into the texts of the pages. Every function is pure. A null is an unknown number, and its
// text is "?".

import type { Known } from "./contract.ts";

/** unknown is the text of a number that Muster does not know. */
export const unknown = "?";

const units: [string, number][] = [
	["d", 86400],
	["h", 3600],
	["m", 60],
	["s", 1],
];

/**
 * duration prints seconds with at most two units: 250ms, 4.2s, 1m30s, 2h5m, 3d4h. It rounds to the smaller unit, so
 * that a bar and its text never differ by more than that.
 */
export function duration(seconds: Known): string {
	if (seconds === null || !Number.isFinite(seconds)) return unknown;
	if (seconds < 0) return `-${duration(-seconds)}`;
	if (seconds === 0) return "0s";
	if (seconds < 0.9995) return `${Math.max(1, Math.round(seconds * 1000))}ms`;
	if (seconds < 9.95) return `${trimmed(seconds.toFixed(1))}s`;
	let rest = seconds < 3600 ? Math.round(seconds) : Math.round(seconds / 60) * 60;
	if (rest >= 86400) rest = Math.round(seconds / 3600) * 3600;
	const parts: string[] = [];
	for (const [unit, length] of units) {
		const n = Math.floor(rest / length);
		if (n > 0) parts.push(`${n}${unit}`);
		rest -= n * length;
		if (parts.length === 2) break;
	}
	return parts.join("");
}

function trimmed(decimal: string): string {
	return decimal.includes(".") ? decimal.replace(/\.?0+$/, "") : decimal;
}

/** count prints a whole number with thin spaces between thousands, and from a hundred thousand on in k or M. */
export function count(n: Known): string {
	if (n === null || !Number.isFinite(n)) return unknown;
	const rounded = Math.round(n);
	if (Math.abs(rounded) >= 9_999_500) return `${trimmed((rounded / 1e6).toPrecision(3))}M`;
	if (Math.abs(rounded) >= 100_000) return `${Math.round(rounded / 1000)}k`;
	return String(rounded).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** decimal prints a number with three significant digits, and whole numbers as they are. */
export function decimal(n: Known): string {
	if (n === null || !Number.isFinite(n)) return unknown;
	if (Number.isInteger(n) || Math.abs(n) >= 1000) return count(n);
	return trimmed(Math.abs(n) < 0.001 ? n.toExponential(1) : n.toPrecision(3));
}

/**
 * share prints a share as a percentage, rounded down to tenths as in the server's sentences: a share below an objective
 * of 99 % must not read as 99 %. Only a share of exactly 0 prints as 0 %.
 */
export function share(s: Known): string {
	if (s === null || !Number.isFinite(s)) return unknown;
	const rounded = Math.floor(s * 1000 + 1e-9) / 10;
	if (rounded === 0 && s > 0) return "<0.1 %";
	return `${trimmed(rounded.toFixed(1))} %`;
}

/** quantile prints the share of an objective. 0.9999 is 99.99 %, not 100 %. */
export function quantile(q: Known): string {
	return q === null || !Number.isFinite(q) ? unknown : `${trimmed((q * 100).toFixed(4))} %`;
}

/** money prints a sum with two to four decimals: small hourly prices must not round to zero. */
export function money(sum: Known, currency = ""): string {
	if (sum === null || !Number.isFinite(sum)) return unknown;
	const digits = sum !== 0 && Math.abs(sum) < 0.1 ? 4 : 2;
	return `${currency}${sum.toFixed(digits).replace(/(\.\d\d\d*?)0+$/, "$1")}`;
}

/** bytes prints a size in B, KiB or MiB. */
export function bytes(n: Known): string {
	if (n === null) return unknown;
	if (n < 1024) return `${n} B`;
	if (n < 1024 * 1024) return `${trimmed((n / 1024).toFixed(1))} KiB`;
	return `${trimmed((n / 1024 / 1024).toFixed(1))} MiB`;
}

/** plural prints a number with its noun. */
export function plural(n: number, noun: string): string {
	return `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
}

/** clock prints the time of day in the local zone, with the date when it is not the day of now. */
export function clock(at: string | number | Date, now: Date = new Date()): string {
	const t = new Date(at);
	if (Number.isNaN(t.getTime())) return unknown;
	const time = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
	return t.toDateString() === now.toDateString() ? time : `${day(t)} ${time}`;
}

/** day prints a date in the local zone, as 2026-03-01. */
export function day(t: Date): string {
	return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
}

function two(n: number): string {
	return String(n).padStart(2, "0");
}

/** utc prints a time in UTC, for titles. */
export function utc(at: string | number | Date): string {
	const t = new Date(at);
	return Number.isNaN(t.getTime())
		? unknown
		: `${t
				.toISOString()
				.replace("T", " ")
				.replace(/\.\d+Z$/, "")} UTC`;
}

/** ago prints how long before now a time was; a time in the future reads "in 5m". */
export function ago(at: string, now: number): string {
	const t = Date.parse(at);
	if (Number.isNaN(t)) return unknown;
	const seconds = Math.round((now - t) / 1000);
	if (seconds < 0) return `in ${duration(-seconds)}`;
	return seconds < 2 ? "now" : `${duration(seconds)} ago`;
}

/**
 * period reads a length of time as a person writes it: "90s", "30m", "1h30m", "2d". It returns seconds, or null for
 * anything else.
 */
export function period(text: string): number | null {
	const trimmedText = text.trim().toLowerCase();
	if (!/^(\d+(\.\d+)?[smhd])+$/.test(trimmedText)) return null;
	let sum = 0;
	for (const [, n, unit] of trimmedText.matchAll(/(\d+(?:\.\d+)?)([smhd])/g)) {
		sum += Number(n) * (units.find(([u]) => u === unit)?.[1] ?? 0);
	}
	return sum > 0 ? sum : null;
}

/** words replaces the underscores of a reason or state by spaces: rate_limited becomes "rate limited". */
export function words(name: string): string {
	return name.replaceAll("_", " ");
}

/**
 * named prints a named number with its name. The name of a number of seconds ends in _s, and its text is then a
 * duration.
 */
export function named(name: string, value: number): [name: string, text: string] {
	if (name.endsWith("_s") && !name.endsWith("_per_s")) return [words(name.slice(0, -2)), duration(value)];
	return [words(name), decimal(value)];
}
