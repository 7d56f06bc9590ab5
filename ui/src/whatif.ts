// The request and the answer of a replay. Everything here is pure.

import type { Known, Replay, Series } from "./contract.ts";
import { type Columns, nearest } from "./sample.ts";

/** The changed keys as KEY=VALUE, or what is wrong with them. */
export type Settings = { keys: string[]; error?: undefined } | { keys?: undefined; error: string };

/** settings reads lines of the form key: value or key=value. Empty lines and comments are left out. */
export function settings(text: string): Settings {
	const keys: string[] = [];
	for (const [i, raw] of text.split("\n").entries()) {
		const line = raw.trim();
		if (line === "" || line.startsWith("#")) continue;
		const parts = /^([A-Za-z_][\w.[\]-]*)\s*[:=]\s*(\S.*)$/.exec(line);
		if (!parts?.[1] || !parts[2]) return { error: `Line ${i + 1} is ${line}: write it as key: value.` };
		keys.push(`${parts[1]}=${parts[2]}`);
	}
	return { keys };
}

/**
 * replayed puts the curves of the present and the changed configuration beside the recorded ones, over the times of the
 * present one. A column is named by its run: present_in_service, changed_in_service, recorded_in_service.
 */
export function replayed(r: Replay, recorded: Series | null): Columns {
	const present = r.runs.find((run) => run.kind === "present" && !run.failure);
	if (!present?.curves) return { at: [], columns: {} };
	const from = Date.parse(r.from) / 1000;
	const step = present.curves.step_s;
	const at = present.curves.in_service.map((_, i) => from + i * step);
	const columns: Record<string, Known[]> = { objective_s: at.map(() => r.objective_s) };
	for (const run of r.runs) {
		if (!run.curves || run.kind === "other") continue;
		for (const [name, curve] of Object.entries(run.curves)) {
			if (Array.isArray(curve)) columns[`${run.kind}_${name}`] = at.map((_, i) => curve[i] ?? null);
		}
	}
	if (recorded) {
		const reach = Math.max(recorded.step_s, step);
		const rows = at.map((t) => {
			const i = nearest(recorded.at, t);
			return i >= 0 && Math.abs((recorded.at[i] as number) - t) <= reach ? i : -1;
		});
		for (const [name, column] of Object.entries(recorded.columns)) {
			columns[`recorded_${name}`] = rows.map((i) => (i < 0 ? null : (column[i] ?? null)));
		}
	}
	return { at, columns };
}
