// What would have happened: the recorded messages of a fleet, replayed under another policy or configuration.

import { useMemo, useRef, useState } from "preact/hooks";
import { get, send } from "../api.ts";
import { Chart, Cursor, type Line, timeSteps, wholeSteps } from "../chart/chart.tsx";
import type { Known, Replay, Run, Series } from "../contract.ts";
import { clock, count, decimal, duration, money, period, plural, quantile, share } from "../format.ts";
import { state } from "../live.ts";
import { Field } from "../part/action.tsx";
import { CopyButton, Notice, serverNow } from "../part/basic.tsx";
import { Table } from "../part/table.tsx";
import { link, type Route } from "../route.ts";
import { type Columns, fitted } from "../sample.ts";
import { useStore } from "../store.ts";
import { replayed, settings } from "../whatif.ts";
import { seriesPath } from "./window.ts";

// lines are the curves of a quantity, by run. Without a change there is no changed run, and a file has no recorded one.
function lines(quantity: string, changed: boolean, recorded: boolean): Line[] {
	const all: Line[] = [
		{ key: `present_${quantity}`, label: "present", color: "--line-3", dash: [6, 3], step: true },
	];
	if (recorded) {
		all.unshift({ key: `recorded_${quantity}`, label: "recorded", color: "--line-2", dash: [2, 3], step: true });
	}
	if (changed) all.push({ key: `changed_${quantity}`, label: "changed", color: "--line-1", width: 2, step: true });
	return all;
}

const objective: Line = { key: "objective_s", label: "objective", color: "--bad", dash: [8, 4], step: true };

/** policies are those of Muster that need no parameters. */
export const policies = ["deadline", "exact", "backlog-per-worker", "dynamic-backlog", "worker-utilization"];

/** others are the autoscalers to compare with, by the name of their rule. */
const others: [string, string][] = [
	["aws-dynamic", "AWS target tracking"],
	["aws-step", "AWS step scaling"],
	["keda", "KEDA"],
	["kpa", "Knative"],
];

/** What is shown of a simulation: recorded is what really happened, or null. */
export interface Result {
	replay: Replay;
	recorded: Series | null;
	/** unread says why there are no recorded curves. */
	unread: string;
	/** pending is true while other autoscalers and the bound are still simulated. */
	pending?: boolean;
}

/** joined adds the runs of other autoscalers, and the bound, to those of the fleet itself. */
export function joined(own: Replay, rest: Replay): Replay {
	const notes = [...new Set([...(own.notes ?? []), ...(rest.notes ?? [])])];
	return { ...own, runs: [...own.runs, ...rest.runs], notes, ...(rest.bound && { bound: rest.bound }) };
}

/** WhatIf is the page of simulations. */
export function WhatIf({ route }: { route: Route }) {
	const rows = useStore(state, (s) => s.rows);
	const names = useMemo(() => [...rows.keys()].sort(), [rows]);
	const fleet = route.name || names[0] || "";
	const [span, setSpan] = useState("24h");
	const [policy, setPolicy] = useState("");
	const [keys, setKeys] = useState(route.query.set ?? "");
	const [compared, setCompared] = useState<string[]>(["aws-dynamic", "keda"]);
	const [result, setResult] = useState<Result | null>(null);
	const [error, setError] = useState("");
	const [running, setRunning] = useState(false);
	const abort = useRef<AbortController | null>(null);
	const run = async () => {
		const seconds = period(span);
		if (seconds === null) return setError("State a window such as 6h, 24h or 7d.");
		const set = settings(keys);
		if (set.error !== undefined) return setError(set.error);
		const controller = new AbortController();
		abort.current = controller;
		setRunning(true);
		setError("");
		try {
			const to = serverNow(); // the window is of the server's history
			const from = to - seconds * 1000;
			const body = {
				fleet,
				from: new Date(from).toISOString(),
				to: new Date(to).toISOString(),
				policy,
				set: set.keys,
			};
			const ask = (more: object) => send<Replay>("POST", "v1/whatif", { ...body, ...more }, controller.signal);
			// The fleet itself comes first: the other autoscalers and the bound take several times as long.
			const own = await ask({ others: [], bound: false });
			const past = await recordedOf(own, controller.signal);
			setResult({ replay: own, ...past, pending: true });
			const rest = await ask({ others: compared, bound: true, others_only: true });
			setResult({ replay: joined(own, rest), ...past });
		} catch (err) {
			if (!controller.signal.aborted) setError(err instanceof Error ? err.message : String(err));
		} finally {
			setResult((r) => r && { ...r, pending: false });
			setRunning(false);
		}
	};
	return (
		<>
			<header class="page">
				<h1>What if?</h1>
				<p class="lead">
					The simulator replays the recorded messages of a fleet under another policy or configuration.
					Nothing changes.
				</p>
			</header>
			<form
				class="block"
				onSubmit={(e) => {
					e.preventDefault();
					void run();
				}}
			>
				<div class="fields">
					<label class="field">
						<span>Fleet</span>
						<select value={fleet} onChange={(e) => (location.hash = link("whatif", e.currentTarget.value))}>
							{names.map((n) => (
								<option key={n}>{n}</option>
							))}
						</select>
						<small class="muted">whose history is used</small>
					</label>
					<Field
						label="Window"
						hint="such as 6h, 24h, 7d; it ends now"
						value={span}
						onInput={(e) => setSpan(e.currentTarget.value)}
					/>
					<label class="field">
						<span>Policy</span>
						<select value={policy} onChange={(e) => setPolicy(e.currentTarget.value)}>
							<option value="">the present one</option>
							{policies.map((p) => (
								<option key={p}>{p}</option>
							))}
						</select>
						<small class="muted">the policy to try</small>
					</label>
				</div>
				<label class="field wide">
					<span>Changed keys of the fleet</span>
					<textarea
						rows={3}
						class="mono"
						value={keys}
						placeholder={"max: 40\nobjective.latency: 30s"}
						onInput={(e) => setKeys(e.currentTarget.value)}
					/>
					<small class="muted">one key: value in each line, as in the configuration</small>
				</label>
				<Choices chosen={compared} choose={setCompared} />
				{error && <Notice kind="bad">{error}</Notice>}
				<footer>
					{running && (
						<button type="button" onClick={() => abort.current?.abort()}>
							Cancel
						</button>
					)}
					<button type="submit" class="primary" disabled={running || fleet === ""}>
						{running ? "Simulating…" : "Simulate"}
					</button>
				</footer>
			</form>
			<div role="status" class="hidden">
				{result && !running ? "The simulation is done." : ""}
			</div>
			{result?.replay.fleet === fleet && <Shown result={result} />}
		</>
	);
}

// recordedOf reads what really happened. A replay is worth showing without it.
async function recordedOf(r: Replay, signal: AbortSignal): Promise<Omit<Result, "replay">> {
	try {
		const path = seriesPath(r.fleet, Date.parse(r.from) / 1000, Date.parse(r.to) / 1000);
		return { recorded: await get<Series>(path, signal), unread: "" };
	} catch (err) {
		return { recorded: null, unread: err instanceof Error ? err.message : String(err) };
	}
}

/** Choices lets the user choose other autoscalers. */
export function Choices({ chosen, choose }: { chosen: string[]; choose: (names: string[]) => void }) {
	return (
		<fieldset class="choices">
			<legend>Compare with other autoscalers</legend>
			{others.map(([name, label]) => (
				<label key={name}>
					<input
						type="checkbox"
						checked={chosen.includes(name)}
						onChange={(e) =>
							choose(e.currentTarget.checked ? [...chosen, name] : chosen.filter((n) => n !== name))
						}
					/>{" "}
					{label}
				</label>
			))}
		</fieldset>
	);
}

/** Shown draws a simulation: the curves, the table and the changed fleet. */
export function Shown({ result: { replay: r, recorded, unread, pending } }: { result: Result }) {
	const cursor = useMemo(() => new Cursor("whatif"), []);
	const data = useMemo(() => replayed(r, recorded), [r, recorded]);
	const range = useMemo(() => recordedRange(r, data), [r, data]);
	const changed = r.runs.some((run) => run.kind === "changed" && !run.failure);
	return (
		<>
			<h2>Curves</h2>
			{unread && <Notice kind="warn">The recorded curves could not be read: {unread}</Notice>}
			{data.at.length > 0 && (
				<div class="grid">
					<Chart
						title="Workers in service"
						lines={lines("in_service", changed, recorded !== null)}
						text={count}
						steps={wholeSteps}
						data={data}
						range={range}
						cursor={cursor}
					/>
					<Chart
						title="Age of the oldest message"
						lines={[...lines("oldest_age_s", changed, recorded !== null), objective]}
						text={duration}
						steps={timeSteps}
						data={data}
						range={range}
						cursor={cursor}
					/>
				</div>
			)}
			<section class="block" aria-labelledby="compared">
				<h2 id="compared">Compared</h2>
				<p class="muted">
					{plural(r.messages, "message")} from {clock(r.from)} to {clock(r.to)}; the objective is{" "}
					{quantile(r.quantile)} within {duration(r.objective_s)}.
				</p>
				<Compared replay={r} />
				{pending && <p class="muted">The other autoscalers and the lower bound are still being simulated.</p>}
				{r.bound?.unreachable && (
					<Notice kind="warn">
						No scheduler meets the objective on this work with the limits of the present fleet.
					</Notice>
				)}
				{(r.notes ?? []).map((n) => (
					<p class="muted" key={n}>
						{n}
					</p>
				))}
			</section>
			{r.yaml && (
				<section class="block" aria-labelledby="as-configuration">
					<header>
						<h2 id="as-configuration">As configuration</h2>
						<CopyButton text={r.yaml} label="Copy" />
					</header>
					<pre>{r.yaml}</pre>
				</section>
			)}
		</>
	);
}

// recordedRange leaves out the part of the window before the history began.
function recordedRange(r: Replay, data: Columns): [number, number] {
	const recorded = Object.entries(data.columns).filter(([name]) => name.startsWith("recorded_"));
	const window: [number, number] = [Date.parse(r.from) / 1000, Date.parse(r.to) / 1000];
	return fitted(window, { at: data.at, columns: Object.fromEntries(recorded) });
}

function Compared({ replay }: { replay: Replay }) {
	const rows = replay.runs.map((r) => ({
		key: `${r.kind} ${r.name}`,
		chosen: r.kind === "changed",
		cells: r.failure
			? [label(r), r.failure]
			: [
					label(r),
					share(r.in_time),
					duration(r.p50_s),
					duration(r.p95_s),
					decimal(r.worker_hours),
					cost(r.cost),
					count(r.peak_workers),
					count(r.scale_events),
				],
	}));
	if (replay.bound) {
		const b = replay.bound;
		rows.push({
			key: "bound",
			chosen: false,
			cells: ["(lower bound)", "–", "–", "–", decimal(b.worker_hours), cost(b.cost), "–", "–"],
		});
	}
	return (
		<Table
			name="Table of policies"
			columns={[
				{ label: "Policy" },
				{ label: "In time", number: true },
				{ label: "p50", number: true },
				{ label: "p95", number: true },
				{ label: "Worker hours", number: true },
				{ label: "Cost", number: true },
				{ label: "Most workers", number: true },
				{ label: "Changes of size", number: true },
			]}
			rows={rows}
		/>
	);
}

function label(r: Run): string {
	if (r.kind === "recorded") return r.name;
	return r.kind === "other" ? (others.find(([name]) => name === r.name)?.[1] ?? r.name) : `${r.name} (${r.kind})`;
}

function cost(n: Known): string {
	return n === null ? "–" : money(n);
}
