// The four linked charts of a fleet: workers, messages, age and speed. One cursor runs over all of them.

import { useMemo, useRef, useState } from "preact/hooks";
import { Chart, Cursor, type Line, timeSteps, wholeSteps } from "../chart/chart.tsx";
import type { FleetRow, Known, ShortDecision } from "../contract.ts";
import { clock, count, decimal, duration, share } from "../format.ts";
import { Notice } from "../part/basic.tsx";
import { change } from "../part/decision.tsx";
import { breaches, type Columns, fitted } from "../sample.ts";
import { useStore } from "../store.ts";
import { useWindow, type Window, windows } from "./window.ts";

const workers: Line[] = [
	{ key: "desired", label: "desired", color: "--line-2", dash: [5, 3], step: true },
	{ key: "in_service", label: "in service", color: "--line-1", width: 2, step: true },
	{ key: "busy", label: "busy", color: "--line-3", step: true, fill: true, width: 1 },
	{ key: "pending", label: "pending", color: "--line-4", dash: [2, 2], step: true },
];

const messages: Line[] = [
	{ key: "backlog", label: "backlog", color: "--line-1", fill: true },
	{ key: "in_flight", label: "in flight", color: "--line-3", dash: [4, 2] },
];

const age: Line[] = [
	{ key: "oldest_age_s", label: "oldest message", color: "--line-1", fill: true },
	{ key: "objective_s", label: "objective", color: "--bad", dash: [8, 4], step: true },
];

// The fourth chart has three views: they have different units.
const speeds: Record<string, { lines: Line[]; text: (n: Known) => string; steps?: number[] }> = {
	"Processing duration": {
		steps: timeSteps,
		lines: [
			{ key: "processing_p50_s", label: "p50", color: "--line-1", width: 2 },
			{ key: "processing_p95_s", label: "p95", color: "--line-3", dash: [4, 2] },
		],
		text: duration,
	},
	"Backlog per worker": {
		lines: [
			{ key: "per_worker", label: "backlog per worker", color: "--line-1", width: 2 },
			{ key: "acceptable_per_worker", label: "acceptable", color: "--bad", dash: [8, 4] },
		],
		text: decimal,
	},
	Utilization: {
		lines: [
			{ key: "utilization", label: "utilization", color: "--line-1", width: 2, fill: true },
			{ key: "utilization_target", label: "target", color: "--line-2", dash: [8, 4] },
		],
		text: share,
	},
};

interface ChartsProps {
	fleet: string;
	row: FleetRow;
	at: string;
	onDecision: (d: ShortDecision) => void;
}

const nothing: Columns = { at: [], columns: {} };

/** Charts draws the curves of a fleet over a window that the user chooses. */
export function Charts({ fleet, row, at, onDecision }: ChartsProps) {
	const [window, setWindow] = useState<Window>({ seconds: 3600 });
	const [speed, setSpeed] = useState("Processing duration");
	const read = useWindow(fleet, window, row, at);
	const cursor = useMemo(() => new Cursor(`fleet-${fleet}`), [fleet]);
	const frame = useRef<HTMLDivElement>(null);
	const data = read.data ?? nothing;
	const range = window.to === undefined ? fitted(read.range, data) : read.range;
	const late = useMemo(
		() => breaches(data.at, data.columns.oldest_age_s ?? [], data.columns.objective_s ?? []),
		[data],
	);
	const shared = {
		data,
		cursor,
		decisions: read.decisions,
		onDecision,
		range,
		onZoom: (from: number, to: number) => setWindow({ seconds: Math.max(60, to - from), to }),
	};
	const chosen = speeds[speed] ?? speeds.Utilization;
	return (
		<section class="charts" aria-labelledby="charts-title" ref={frame}>
			<header>
				<h2 id="charts-title">Course</h2>
				<div class="segments" role="group" aria-label="Window">
					{windows.map(([label, seconds]) => (
						<button
							type="button"
							key={label}
							aria-pressed={window.seconds === seconds && window.to === undefined}
							onClick={() => setWindow({ seconds })}
						>
							{label}
						</button>
					))}
				</div>
				{window.to !== undefined && (
					<span class="muted">
						{clock((window.to - window.seconds) * 1000)} to {clock(window.to * 1000)}
					</span>
				)}
				<Pointed cursor={cursor} data={data} />
			</header>
			{read.error && <Notice kind="bad">{read.error}</Notice>}
			<div class="grid">
				<Chart
					title="Workers"
					lines={workers}
					text={count}
					steps={wholeSteps}
					band={["min", "max"]}
					{...shared}
				/>
				<Chart
					title="Age of the oldest message"
					lines={age}
					text={duration}
					steps={timeSteps}
					breaches={late}
					{...shared}
					note={late.length > 0 ? "hatched: above the objective" : ""}
				/>
				<Chart title="Messages" lines={messages} text={count} steps={wholeSteps} {...shared} />
				{chosen && (
					<Chart
						key={speed}
						title={speed}
						{...chosen}
						{...shared}
						heading={
							<div class="segments" role="group" aria-label="Speed">
								{Object.keys(speeds).map((k) => (
									<button
										type="button"
										key={k}
										aria-pressed={k === speed}
										onClick={() => setSpeed(k)}
									>
										{k}
									</button>
								))}
							</div>
						}
					/>
				)}
			</div>
		</section>
	);
}

// Pointed says what is under the cursor: the time, and the decision if one is near.
function Pointed({ cursor, data }: { cursor: Cursor; data: Columns }) {
	const index = useStore(cursor.index);
	const decision = useStore(cursor.decision);
	const t = index === null ? undefined : data.at[index];
	return (
		<p class="pointed" role="status">
			{t !== undefined && <b class="number">{clock(t * 1000)}</b>}{" "}
			{decision
				? `${change(decision)}: ${decision.sentence} (click for all inputs)`
				: "Triangles are changes of size. Point at one for its sentence; drag over a chart to zoom."}
		</p>
	);
}
