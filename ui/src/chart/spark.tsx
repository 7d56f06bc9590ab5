// The curve of one hour in a row of the fleet list, and the bar of the oldest age next to its objective.

import type { Known } from "../contract.ts";
import { duration } from "../format.ts";
import { path } from "../sample.ts";

const width = 120;
const height = 26;

/** fewest is how many values of the hour a curve has at least, so that a fleet that just started shows more than a dot. */
const fewest = 10;

/**
 * Spark draws the oldest age of the last hour, with the objective as a line where it fits. A fleet that is younger fills
 * its curve from the first known value on.
 */
export function Spark({ values: hour, limit }: { values: Known[] | undefined; limit: Known }) {
	const first = hour?.findIndex((v) => v !== null) ?? -1;
	if (!hour || first < 0) return <span class="spark muted">no curve yet</span>;
	const each = 3600 / hour.length;
	const values = hour.slice(Math.max(0, Math.min(first, hour.length - fewest)));
	const highest = Math.max(0, ...values.map((v) => v ?? 0));
	const bound = limit ?? Number.POSITIVE_INFINITY;
	const top = Math.max(highest, limit ?? 0, 1e-9) * 1.05;
	const line = (height - (bound / top) * height).toFixed(1);
	const over = values.filter((v) => v !== null && v > bound).length;
	const label = `oldest age in the last ${duration(values.length * each)}: at most ${duration(highest)}, ${
		over === 0 ? "never above the objective" : `above the objective for about ${duration(over * each)}`
	}`;
	return (
		<svg class="spark" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
			<title>{label}</title>
			{limit !== null && <line x1="0" x2={width} y1={line} y2={line} class="spark-limit" />}
			<path d={path(values, width, height, top)} class={over > 0 ? "spark-line over" : "spark-line"} />
		</svg>
	);
}

/**
 * AgeBar draws the oldest age next to the objective, which is the mark at two thirds of the bar. Ages above one and a
 * half objectives fill it.
 */
export function AgeBar({ age, limit }: { age: Known; limit: Known }) {
	const text = `${duration(age)} of ${duration(limit)}`;
	const part = age === null || limit === null ? 0 : Math.min(1, age / (1.5 * limit));
	const level =
		age === null || limit === null ? "unknown" : age > limit ? "bad" : age > 0.8 * limit ? "warn" : "good";
	return (
		<span class="age" title={`The oldest message has waited ${text}, the latency objective.`}>
			<svg class={`meter ${level}`} viewBox="0 0 90 8" preserveAspectRatio="none" aria-hidden="true">
				<rect x="0" y="1" width="90" height="6" class="track" />
				<rect x="0" y="1" width={(90 * part).toFixed(1)} height="6" class="fill" />
				<rect x="59" y="0" width="2" height="8" class="mark" />
			</svg>
			<span class="number">
				{duration(age)} <span class="muted">/ {duration(limit)}</span>
			</span>
		</span>
	);
}
