// The curves of one fleet over a window of time: read from the history, and continued by the live stream.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../api.ts";
import type { FleetRow, Known, Series, ShortDecision } from "../contract.ts";
import { serverNow } from "../part/basic.tsx";
import { appended, type Columns } from "../sample.ts";

/** A window: the last seconds up to now, or a fixed one when to is set. Both are in unix seconds. */
export interface Window {
	seconds: number;
	to?: number;
}

/** windows are those that the page offers. */
export const windows: [string, number][] = [
	["15 min", 900],
	["1 h", 3600],
	["6 h", 21600],
	["24 h", 86400],
	["7 d", 604800],
	["30 d", 2592000],
];

/** Curves of a window, with the decisions in it. */
export interface Read {
	data: Columns | null;
	decisions: ShortDecision[];
	error: string;
	/** range is the span of the horizontal axis in unix seconds. */
	range: [number, number];
}

const points = 600;

/** seriesPath is where the curves of a window are read. */
export function seriesPath(fleet: string, from: number, to: number): string {
	const text = (t: number) => new Date(t * 1000).toISOString();
	return `v1/fleets/${encodeURIComponent(fleet)}/series?from=${text(from)}&to=${text(to)}&points=${points}`;
}

// pointOf is what a row of the fleet list tells about now: its fields have the names of the columns.
function pointOf(r: FleetRow): Record<string, Known> {
	const point: Record<string, Known> = {};
	for (const [key, value] of Object.entries(r)) if (typeof value === "number") point[key] = value;
	return point;
}

/** useWindow reads the curves of a window. row and at are the fleet's row and the time of the last live change. */
export function useWindow(fleet: string, w: Window, row: FleetRow | undefined, at: string | undefined): Read {
	const [read, setRead] = useState<{ series: Series | null; error: string; key: string }>({
		series: null,
		error: "",
		key: "",
	});
	const key = `${fleet} ${w.seconds} ${w.to ?? ""}`;
	const step = Math.max(10, w.seconds / points);
	// the last change may be long ago, and the curves go on without one
	const now = useRef(0);
	now.current = serverNow() / 1000;
	useEffect(() => {
		const controller = new AbortController();
		const fetchIt = async () => {
			try {
				const to = w.to ?? serverNow() / 1000;
				const series = await get<Series>(seriesPath(fleet, to - w.seconds, to), controller.signal);
				setRead({ series, error: "", key });
			} catch (err) {
				if (controller.signal.aborted) return;
				setRead((old) => ({ ...old, error: err instanceof Error ? err.message : String(err), key }));
			}
		};
		void fetchIt();
		if (w.to !== undefined) return () => controller.abort();
		const timer = setInterval(() => document.hidden || void fetchIt(), step * 1000);
		return () => {
			controller.abort();
			clearInterval(timer);
		};
	}, [key]);

	const base = read.key === key ? read.series : null;
	const tail = useRef<{ base: Series | null; data: Columns | null }>({ base: null, data: null });
	const data = useMemo(() => {
		if (!base) return null;
		if (tail.current.base !== base) tail.current = { base, data: { at: base.at, columns: base.columns } };
		if (w.to === undefined && row && at && tail.current.data) {
			const t = Date.parse(at) / 1000;
			const last = tail.current.data.at[tail.current.data.at.length - 1] ?? 0;
			// a month needs no point for each second
			if (t - last >= base.step_s / 4) {
				const gap = Math.max(30, 3 * base.step_s);
				tail.current.data = appended(tail.current.data, t, pointOf(row), t - w.seconds, gap);
			}
		}
		return tail.current.data;
	}, [base, row, at]);
	const to = w.to ?? now.current;
	return {
		data,
		decisions: base?.decisions ?? none,
		error: read.key === key ? read.error : "",
		range: [to - w.seconds, to],
	};
}

const none: ShortDecision[] = [];
