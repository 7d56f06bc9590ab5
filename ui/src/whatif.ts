// The request and the answer of a simulation. Everything here is pure.

import type { Known, Series } from "./contract.ts";
import { type Columns, nearest } from "./sample.ts";

/** The keys that a person typed, or what is wrong with them. */
export type Settings = { keys: Record<string, string>; error?: undefined } | { keys?: undefined; error: string };

/** settings reads lines of the form key: value or key=value. Empty lines and comments are left out. */
export function settings(text: string): Settings {
	const keys: Record<string, string> = {};
	for (const [i, raw] of text.split("\n").entries()) {
		const line = raw.trim();
		if (line === "" || line.startsWith("#")) continue;
		const parts = /^([A-Za-z_][\w.-]*)\s*[:=]\s*(\S.*)$/.exec(line);
		if (!parts?.[1] || !parts[2]) return { error: `Line ${i + 1} is ${line}: write it as key: value.` };
		keys[parts[1]] = parts[2];
	}
	return { keys };
}

/**
 * joined puts the recorded curves beside the simulated ones, over the times of the simulated ones. A recorded column is
 * named actual_ and its name.
 */
export function joined(simulated: Series | undefined, recorded: Series | undefined): Columns {
	const base = simulated ?? recorded;
	if (!base) return { at: [], columns: {} };
	const columns: Record<string, Known[]> = simulated ? { ...simulated.columns } : {};
	if (recorded) {
		const reach = Math.max(recorded.step_s, base.step_s);
		const rows = base.at.map((t) => {
			const i = nearest(recorded.at, t);
			return i >= 0 && Math.abs((recorded.at[i] as number) - t) <= reach ? i : -1;
		});
		for (const [name, column] of Object.entries(recorded.columns)) {
			columns[`actual_${name}`] = rows.map((i) => (i < 0 ? null : (column[i] ?? null)));
		}
		if (!columns.objective_s && columns.actual_objective_s) columns.objective_s = columns.actual_objective_s;
	}
	return { at: base.at, columns };
}
