// Prepares time series for the charts. Times are unix seconds, in ascending order. A null is a gap: it is never drawn
// as zero, and never joined with its neighbours.

import type { Known } from "./contract.ts";

/** Columns of numbers over one column of times, as a chart draws them. */
export interface Columns {
	at: number[];
	columns: Record<string, Known[]>;
}

/** A span of time, from and to in unix seconds. */
export interface Interval {
	from: number;
	to: number;
}

/**
 * thin keeps at most about most rows. Of each bucket it keeps the rows in which the column lead is least and greatest,
 * in their order, so that a peak of one second is still there in a month. A bucket in which lead has only gaps keeps
 * one row.
 */
export function thin(s: Columns, lead: string, most: number): Columns {
	if (s.at.length <= most || most < 4) return s;
	const values = s.columns[lead] ?? [];
	const size = Math.ceil(s.at.length / Math.floor(most / 2));
	const kept: number[] = [];
	for (let begin = 0; begin < s.at.length; begin += size) {
		let low = -1;
		let high = -1;
		for (let i = begin; i < Math.min(s.at.length, begin + size); i++) {
			const v = values[i];
			if (v === null || v === undefined) continue;
			if (low < 0 || v < (values[low] as number)) low = i;
			if (high < 0 || v > (values[high] as number)) high = i;
		}
		if (low < 0) kept.push(begin);
		else if (low === high) kept.push(low);
		else kept.push(Math.min(low, high), Math.max(low, high));
	}
	const columns: Record<string, Known[]> = {};
	for (const [name, column] of Object.entries(s.columns)) columns[name] = kept.map((i) => column[i] ?? null);
	return { at: kept.map((i) => s.at[i] as number), columns };
}

/**
 * breaches returns the intervals in which value is above limit. An interval ends where the value is unknown: what is
 * not known is not called a breach.
 */
export function breaches(at: number[], value: Known[], limit: Known[]): Interval[] {
	const found: Interval[] = [];
	let open: Interval | null = null;
	for (let i = 0; i < at.length; i++) {
		const v = value[i] ?? null;
		const l = limit[i] ?? null;
		const t = at[i] as number;
		if (v !== null && l !== null && v > l) {
			open ??= { from: t, to: t };
			open.to = t;
			continue;
		}
		if (open) {
			if (v !== null) open.to = t; // known to be below from here on
			found.push(open);
			open = null;
		}
	}
	if (open) found.push(open);
	return found;
}

/**
 * appended returns series with one more point, and without the points before from. A point that is not newer than the
 * last one replaces it. A pause longer than gap seconds becomes a gap in every column.
 */
export function appended(s: Columns, t: number, point: Record<string, Known>, from: number, gap: number): Columns {
	let begin = 0;
	while (begin < s.at.length && (s.at[begin] as number) < from) begin++;
	const at = s.at.slice(begin);
	const last = at.length > 0 ? (at[at.length - 1] as number) : null;
	if (last !== null && t < last) return s;
	const replace = last !== null && t === last;
	const broken = last !== null && t - last > gap;
	if (replace) at.pop();
	if (broken) at.push(last + gap / 2);
	at.push(t);
	const columns: Record<string, Known[]> = {};
	for (const [name, old] of Object.entries(s.columns)) {
		const values = old.slice(begin);
		if (replace) values.pop();
		if (broken) values.push(null);
		values.push(point[name] ?? null);
		columns[name] = values;
	}
	return { at, columns };
}

/** narrowest is the shortest span of a chart that starts with its first known value, in seconds. */
const narrowest = 120;

/**
 * fitted returns the range of the horizontal axis: the whole window or, while the history is shorter than that, the
 * part from the first known value on. A fleet that started a minute ago then fills its chart.
 */
export function fitted(range: [number, number], s: Columns): [number, number] {
	const columns = Object.values(s.columns);
	const first = s.at.findIndex((_, i) => columns.some((c) => typeof c[i] === "number"));
	if (first < 0) return range;
	const [from, to] = range;
	return [Math.max(from, Math.min(s.at[first] as number, to - narrowest)), to];
}

/**
 * latest returns the index of the last time at which anything is known, or -1. The bucket that has just begun has no
 * values yet, and says nothing about what is unknown.
 */
export function latest(s: Columns): number {
	const columns = Object.values(s.columns);
	return s.at.findLastIndex((_, i) => columns.some((c) => typeof c[i] === "number"));
}

/** nearest returns the index of the time closest to t, or -1 for an empty column. */
export function nearest(at: number[], t: number): number {
	if (at.length === 0) return -1;
	let low = 0;
	let high = at.length - 1;
	while (low < high) {
		const middle = (low + high) >> 1;
		if ((at[middle] as number) < t) low = middle + 1;
		else high = middle;
	}
	return low > 0 && t - (at[low - 1] as number) <= (at[low] as number) - t ? low - 1 : low;
}

/** path prints a small curve as the points of an SVG path, each known run a line of its own. */
export function path(values: Known[], width: number, height: number, top: number): string {
	if (values.length < 2 || top <= 0) return "";
	let text = "";
	let drawing = false;
	values.forEach((v, i) => {
		if (v === null) {
			drawing = false;
			return;
		}
		const x = ((i / (values.length - 1)) * width).toFixed(1);
		const y = (height - (Math.min(v, top) / top) * height).toFixed(1);
		// a value without neighbours is a dot: round ends show a line without length
		text += drawing ? `L${x} ${y}` : `M${x} ${y}${(values[i + 1] ?? null) === null ? "h0" : ""}`;
		drawing = true;
	});
	return text;
}
