// What uPlot does not draw by itself: the band between the limits, times above the objective, and decisions.

import type uPlot from "uplot";
import type { ShortDecision } from "../contract.ts";
import type { Interval } from "../sample.ts";
import type { Store } from "../store.ts";

type Color = (name: string) => string;

// within clips drawings to the plot's area.
function within(u: uPlot, draw: (c: CanvasRenderingContext2D) => void): void {
	const { ctx, bbox } = u;
	ctx.save();
	ctx.beginPath();
	ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
	ctx.clip();
	draw(ctx);
	ctx.restore();
}

/** bandPlugin shades the space between two series, the lower one first. series returns null for none. */
export function bandPlugin(color: Color, series: () => [number, number] | null): uPlot.Plugin {
	const draw = (u: uPlot) => {
		const pair = series();
		if (!pair) return;
		const at = u.data[0];
		const low = u.data[pair[0]];
		const high = u.data[pair[1]];
		within(u, (c) => {
			c.fillStyle = color("--band");
			c.beginPath(); // one path: rectangles that touch must not show seams
			for (let i = 0; i < at.length; i++) {
				const from = at[i] as number;
				const to = at[i + 1] ?? u.scales.x?.max ?? from;
				const l = low?.[i];
				const h = high?.[i];
				if (l === null || l === undefined || h === null || h === undefined) continue;
				const x = u.valToPos(from, "x", true);
				const y = u.valToPos(h, "y", true);
				c.rect(x, y, u.valToPos(to, "x", true) - x + 0.5, u.valToPos(l, "y", true) - y);
			}
			c.fill();
		});
	};
	return { hooks: { drawClear: [draw] } };
}

/** breachPlugin shades intervals and hatches them, so that colour is not the only sign. */
export function breachPlugin(color: Color, intervals: () => Interval[]): uPlot.Plugin {
	const draw = (u: uPlot) => {
		const found = intervals();
		if (found.length === 0) return;
		within(u, (c) => {
			const { top, height } = u.bbox;
			c.strokeStyle = c.fillStyle = color("--bad");
			c.lineWidth = 1;
			for (const one of found) {
				const x = u.valToPos(one.from, "x", true);
				const width = Math.max(2, u.valToPos(one.to, "x", true) - x);
				c.globalAlpha = 0.1;
				c.fillRect(x, top, width, height);
				c.globalAlpha = 0.35;
				c.save();
				c.beginPath();
				c.rect(x, top, width, height);
				c.clip();
				c.beginPath();
				for (let from = x - height; from < x + width; from += 10) {
					c.moveTo(from, top + height);
					c.lineTo(from + height, top);
				}
				c.stroke();
				c.restore();
			}
		});
	};
	return { hooks: { drawClear: [draw] } };
}

/** near is how close to a decision, in pixels, the pointer must be to point at it. */
const near = 8;

/**
 * markerPlugin draws a small triangle at the foot of the plot for each decision that changed the size, upwards or
 * downwards. pointed is set to the decision under the pointer, and a click opens it.
 */
export function markerPlugin(
	color: Color,
	decisions: () => ShortDecision[],
	pointed: Store<ShortDecision | null>,
	open: (d: ShortDecision) => void,
): uPlot.Plugin {
	const seconds = (d: ShortDecision) => Date.parse(d.at) / 1000;
	const draw = (u: uPlot) =>
		within(u, (c) => {
			const ratio = window.devicePixelRatio || 1;
			const foot = u.bbox.top + u.bbox.height - ratio;
			const all = decisions();
			const size = (all.length > 60 ? 2.5 : 4) * ratio;
			for (const d of all) {
				const x = u.valToPos(seconds(d), "x", true);
				if (x < u.bbox.left - size || x > u.bbox.left + u.bbox.width + size) continue;
				c.fillStyle = color(d === pointed.value ? "--accent" : "--marker");
				c.beginPath();
				if (d.desired >= d.previous) {
					c.moveTo(x - size, foot);
					c.lineTo(x + size, foot);
					c.lineTo(x, foot - 1.6 * size);
				} else {
					c.moveTo(x - size, foot - 1.6 * size);
					c.lineTo(x + size, foot - 1.6 * size);
					c.lineTo(x, foot);
				}
				c.fill();
			}
		});
	const point = (u: uPlot) => {
		const left = u.cursor.left ?? -1;
		let best: ShortDecision | null = null;
		let distance = near;
		if (left >= 0) {
			for (const d of decisions()) {
				const away = Math.abs(u.valToPos(seconds(d), "x") - left);
				if (away <= distance) {
					best = d;
					distance = away;
				}
			}
		}
		if (best === pointed.value) return;
		pointed.value = best;
		u.over.classList.toggle("pointing", best !== null);
	};
	let down = 0;
	const ready = (u: uPlot) => {
		u.over.addEventListener("mousedown", (e) => (down = e.clientX));
		u.over.addEventListener("click", (e) => {
			const d = pointed.value;
			if (d && Math.abs(e.clientX - down) < 4) open(d);
		});
	};
	return { hooks: { draw: [draw], setCursor: [point], ready: [ready] } };
}
