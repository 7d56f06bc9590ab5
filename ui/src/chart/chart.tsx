// One chart over time: a uPlot in a frame with title, legend and a table of the same numbers. Charts of one page share
// their cursor, and the legend shows the numbers under it.

import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import type { Known, ShortDecision } from "../contract.ts";
import { type Columns, type Interval, latest, nearest, thin } from "../sample.ts";
import { Store, useStore } from "../store.ts";
import { shade } from "../theme.ts";
import { clock, utc } from "../format.ts";
import { bandPlugin, breachPlugin, markerPlugin } from "./plugins.ts";

/** One curve of a chart. */
export interface Line {
	/** key is its column. */
	key: string;
	label: string;
	/** color is a custom property of the style sheet. */
	color: string;
	/** dash makes curves differ for people who do not see their colours. */
	dash?: number[];
	width?: number;
	/** step draws a value as valid until the next one. */
	step?: boolean;
	/** fill paints the area below. */
	fill?: boolean;
}

/** What the charts of one page share. */
export class Cursor {
	/** index is the row under the pointer, or null. */
	readonly index = new Store<number | null>(null);
	/** decision is the one under the pointer, or null. */
	readonly decision = new Store<ShortDecision | null>(null);
	readonly group: string;
	constructor(group: string) {
		this.group = group;
	}
}

/** What a chart shows. */
export interface ChartProps {
	title: string;
	data: Columns;
	lines: Line[];
	/** text prints a number of the vertical axis. */
	text: (n: Known) => string;
	cursor: Cursor;
	/** band is the pair of columns whose space between is shaded. */
	band?: [string, string];
	breaches?: Interval[];
	decisions?: ShortDecision[];
	onDecision?: (d: ShortDecision) => void;
	onZoom?: (from: number, to: number) => void;
	range?: [number, number];
	height?: number;
	/** note stands beside the legend. */
	note?: string;
	/** heading replaces the visible title. */
	heading?: ComponentChildren;
	/** steps are the distances that the ticks of the vertical axis may have. */
	steps?: number[];
}

/** wholeSteps are the ticks of counts, and timeSteps those of durations in seconds. */
export const wholeSteps = [1, 2, 5]
	.flatMap((n) => Array.from({ length: 9 }, (_, e) => n * 10 ** e))
	.sort((a, b) => a - b);
export const timeSteps = [
	0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200,
	10800, 21600, 43200, 86400, 172800, 604800, 1209600,
];

const noDecisions: ShortDecision[] = [];
const noBreaches: Interval[] = [];

function css(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** timeText prints a time of the horizontal axis, with the date where the axis spans days. */
export function timeText(t: number, span: number): string {
	const d = new Date(t * 1000);
	const two = (n: number) => String(n).padStart(2, "0");
	const time = `${two(d.getHours())}:${two(d.getMinutes())}`;
	if (span > 3 * 86400) return `${two(d.getDate())}.${two(d.getMonth() + 1)}.`;
	if (span > 86400) return `${two(d.getDate())}. ${time}`;
	return span < 600 ? `${time}:${two(d.getSeconds())}` : time;
}

function table(p: ChartProps): uPlot.AlignedData {
	return [p.data.at, ...keys(p).map((k) => p.data.columns[k] ?? p.data.at.map(() => null))] as uPlot.AlignedData;
}

// keys are the columns in the order of uPlot's series: the curves first, then the band's.
function keys(p: ChartProps): string[] {
	return [...p.lines.map((l) => l.key), ...(p.band ?? [])];
}

// options describes the plot. current returns the properties of the last drawing, because uPlot keeps its options.
function options(p: ChartProps, width: number, current: () => ChartProps): uPlot.Options {
	const stepped = uPlot.paths.stepped?.({ align: 1 });
	const axis = { stroke: () => css("--muted"), ticks: { show: false }, font: "11px system-ui, sans-serif" };
	const grid = { stroke: () => css("--grid"), width: 1 };
	const series: uPlot.Series[] = p.lines.map((l) => ({
		label: l.label,
		stroke: () => css(l.color),
		width: l.width ?? 1.5,
		points: { show: false },
		...(l.dash ? { dash: l.dash } : {}),
		...(l.fill ? { fill: () => `${css(l.color)}22` } : {}),
		...(l.step && stepped ? { paths: stepped } : {}),
	}));
	for (const _ of p.band ?? []) {
		series.push({ stroke: "transparent", points: { show: false }, ...(stepped ? { paths: stepped } : {}) });
	}
	return {
		width,
		height: p.height ?? 150,
		padding: [10, 26, 0, 0], // the last time of the axis needs half its width
		legend: { show: false },
		cursor: {
			sync: { key: p.cursor.group, setSeries: false },
			drag: { x: true, y: false, setScale: false },
			points: { size: 5 },
			y: false,
		},
		scales: {
			x: { time: true, range: (_u, low, high) => current().range ?? [low, high] },
			y: { range: (_u, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
		},
		axes: [
			{
				...axis,
				grid,
				size: 24,
				space: 72,
				values: (u, at) => at.map((t) => timeText(t, (u.scales.x?.max ?? 0) - (u.scales.x?.min ?? 0))),
			},
			{
				...axis,
				grid,
				size: 52,
				space: 34,
				values: (_u, vs) => vs.map((v) => p.text(v)),
				...(p.steps ? { incrs: p.steps } : {}),
			},
		],
		series: [{}, ...series],
		plugins: [
			bandPlugin(css, () => (p.band ? [p.lines.length + 1, p.lines.length + 2] : null)),
			breachPlugin(css, () => current().breaches ?? noBreaches),
			markerPlugin(
				css,
				() => current().decisions ?? noDecisions,
				p.cursor.decision,
				(d) => current().onDecision?.(d),
			),
		],
		hooks: {
			setCursor: [(u) => (p.cursor.index.value = u.cursor.idx ?? null)],
			setSelect: [
				(u) => {
					if (u.select.width < 8) return;
					const from = u.posToVal(u.select.left, "x");
					const to = u.posToVal(u.select.left + u.select.width, "x");
					u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
					current().onZoom?.(from, to);
				},
			],
		},
	};
}

/** Chart draws one chart. */
export function Chart(p: ChartProps) {
	const frame = useRef<HTMLDivElement>(null);
	const plot = useRef<uPlot | null>(null);
	const latest = useRef(p);
	latest.current = p;
	const painted = useStore(shade);
	const [asTable, setAsTable] = useState(false);
	const lines = p.lines.map((l) => l.key).join();

	useEffect(() => {
		const element = frame.current;
		if (!element) return;
		const u = new uPlot(
			options(latest.current, element.clientWidth, () => latest.current),
			table(latest.current),
			element,
		);
		plot.current = u;
		const sized = new ResizeObserver(() => {
			if (element.clientWidth > 0) u.setSize({ width: element.clientWidth, height: p.height ?? 150 });
		});
		sized.observe(element);
		return () => {
			sized.disconnect();
			u.destroy();
			plot.current = null;
		};
	}, [lines, asTable]);
	useEffect(() => plot.current?.setData(table(p)), [p.data, p.range?.[0], p.range?.[1]]);
	useEffect(() => plot.current?.redraw(false), [p.breaches, p.decisions, painted]);

	const id = `chart-${p.title.replace(/\W+/g, "-").toLowerCase()}`;
	return (
		<div class="chart" role="group" aria-labelledby={id}>
			<header>
				<div>
					<h3 id={id} class={p.heading ? "hidden" : ""}>
						{p.title}
					</h3>
					{p.heading}
					<Legend {...p} />
				</div>
				<button type="button" class="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
					{asTable ? "Chart" : "Table"}
				</button>
			</header>
			{asTable ? (
				<Twin {...p} />
			) : (
				<div
					ref={frame}
					class="plot"
					tabIndex={0}
					role="img"
					aria-label={`${p.title}: ${spoken(p)}. Arrow keys move the cursor, Enter opens a decision.`}
					onKeyDown={(e) => keyed(e, plot.current, p)}
				/>
			)}
		</div>
	);
}

// keyed moves the cursor by the arrow keys, and opens the decision under it.
function keyed(e: KeyboardEvent, u: uPlot | null, p: ChartProps): void {
	if (!u || p.data.at.length === 0) return;
	const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[e.key];
	const last = p.data.at.length - 1;
	if (by !== undefined) {
		const from = u.cursor.idx ?? (by < 0 ? last + 1 : -1);
		const to = Math.min(last, Math.max(0, from + by));
		u.setCursor({ left: u.valToPos(p.data.at[to] as number, "x"), top: 10 }, true);
		e.preventDefault();
	} else if (e.key === "Enter" && p.cursor.decision.value) {
		p.onDecision?.(p.cursor.decision.value);
		e.preventDefault();
	} else if (e.key === "Escape") {
		u.setCursor({ left: -10, top: -10 }, true);
	}
}

// spoken says the last numbers of the curves. What is unknown now is not said as it was.
function spoken(p: ChartProps): string {
	const index = latest(p.data);
	return p.lines.map((l) => `${l.label} ${p.text(p.data.columns[l.key]?.[index] ?? null)}`).join(", ");
}

// Legend names the curves, with the numbers under the cursor, or else the last ones.
function Legend(p: ChartProps) {
	const at = useStore(p.cursor.index);
	const index = at ?? latest(p.data);
	return (
		<ul class="legend">
			{p.lines.map((l) => (
				<li key={l.key}>
					<svg width="18" height="8" aria-hidden="true">
						<line
							x1="0"
							y1="4"
							x2="18"
							y2="4"
							stroke={`var(${l.color})`}
							stroke-width={l.width ?? 1.5}
							{...(l.dash ? { "stroke-dasharray": l.dash.join(" ") } : {})}
						/>
					</svg>
					{l.label} <b>{p.text(p.data.columns[l.key]?.[index] ?? null)}</b>
				</li>
			))}
			{p.note && <li class="note">{p.note}</li>}
		</ul>
	);
}

// Twin is the table with the numbers of the chart: at most about a hundred rows, with the extremes of the first curve.
function Twin(p: ChartProps) {
	const rows = useMemo(() => thin(p.data, p.lines[0]?.key ?? "", 100), [p.data]);
	const index = nearest(rows.at, rows.at[rows.at.length - 1] ?? 0);
	return (
		<div class="scroll twin" tabIndex={0}>
			<table>
				<caption class="hidden">{p.title}</caption>
				<thead>
					<tr>
						<th scope="col">Time</th>
						{p.lines.map((l) => (
							<th key={l.key} scope="col" class="number">
								{l.label}
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.at.map((_, back) => {
						const i = index - back;
						const t = (rows.at[i] ?? 0) * 1000;
						return (
							<tr key={t}>
								<th scope="row" title={utc(t)}>
									{clock(t)}
								</th>
								{p.lines.map((l) => (
									<td key={l.key} class="number">
										{p.text(rows.columns[l.key]?.[i] ?? null)}
									</td>
								))}
							</tr>
						);
					})}
				</tbody>
			</table>
		</div>
	);
}
