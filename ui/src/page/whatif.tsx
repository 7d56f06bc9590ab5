// What would have happened: a policy, simulated on the recorded arrivals and durations of a fleet.

import { useMemo, useRef, useState } from "preact/hooks";
import { send } from "../api.ts";
import { Chart, Cursor, type Line, timeSteps, wholeSteps } from "../chart/chart.tsx";
import type { Known, WhatIf as Answer, WhatIfRow } from "../contract.ts";
import { count, decimal, duration, money, period, share } from "../format.ts";
import { state } from "../live.ts";
import { Field } from "../part/action.tsx";
import { CopyButton, Notice } from "../part/basic.tsx";
import { Table } from "../part/table.tsx";
import { link, type Route } from "../route.ts";
import type { Columns } from "../sample.ts";
import { useStore } from "../store.ts";
import { joined, settings } from "../whatif.ts";

const workerLines: Line[] = [
	{ key: "actual_in_service", label: "recorded", color: "--line-2", dash: [5, 3], step: true },
	{ key: "in_service", label: "simulated", color: "--line-1", width: 2, step: true },
];

const ageLines: Line[] = [
	{ key: "actual_oldest_age_s", label: "recorded", color: "--line-2", dash: [5, 3] },
	{ key: "oldest_age_s", label: "simulated", color: "--line-1", width: 2 },
	{ key: "objective_s", label: "objective", color: "--bad", dash: [8, 4], step: true },
];

/** WhatIf is the page of simulations. */
export function WhatIf({ route }: { route: Route }) {
	const rows = useStore(state, (s) => s.rows);
	const currency = useStore(state, (s) => s.board?.currency);
	const names = useMemo(() => [...rows.keys()].sort(), [rows]);
	const fleet = route.name || names[0] || "";
	const [span, setSpan] = useState("24h");
	const [keys, setKeys] = useState("");
	const [answer, setAnswer] = useState<Answer | null>(null);
	const [error, setError] = useState("");
	const [running, setRunning] = useState(false);
	const abort = useRef<AbortController | null>(null);
	const run = async () => {
		const seconds = period(span);
		if (seconds === null) return setError("State a window such as 6h, 24h or 7d.");
		const set = settings(keys);
		if (set.error !== undefined) return setError(set.error);
		abort.current = new AbortController();
		setRunning(true);
		setError("");
		try {
			const to = new Date();
			const from = new Date(to.getTime() - seconds * 1000);
			const body = { fleet, from: from.toISOString(), to: to.toISOString(), set: set.keys };
			setAnswer(await send<Answer>("POST", "v1/whatif", body, abort.current.signal));
		} catch (err) {
			if (!abort.current.signal.aborted) setError(err instanceof Error ? err.message : String(err));
		} finally {
			setRunning(false);
		}
	};
	return (
		<>
			<header class="page">
				<h1>What if?</h1>
				<p class="lead">
					The simulator replays the recorded arrivals and durations of a fleet with another policy. Nothing changes.
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
					<Field label="Window" hint="such as 6h, 24h, 7d; it ends now" value={span} onInput={(e) => setSpan(e.currentTarget.value)} />
				</div>
				<label class="field wide">
					<span>Changed keys of its configuration</span>
					<textarea
						rows={4} class="mono" value={keys} placeholder={"policy.type: deadline\nmax: 40"}
						onInput={(e) => setKeys(e.currentTarget.value)}
					/>
					<small class="muted">one key: value in each line; empty simulates the present policy</small>
				</label>
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
				{answer && !running ? "The simulation is done." : ""}
			</div>
			{answer && <Result key={fleet} answer={answer} currency={currency} />}
		</>
	);
}

function Result({ answer, currency }: { answer: Answer; currency: string | undefined }) {
	const cursor = useMemo(() => new Cursor("whatif"), []);
	const data: Columns = useMemo(() => joined(answer.series, answer.actual), [answer]);
	return (
		<>
			{(answer.notes ?? []).map((n) => (
				<Notice kind="warn" key={n}>
					{n}
				</Notice>
			))}
			{data.at.length > 0 && (
				<div class="grid">
					<Chart title="Workers, recorded and simulated" lines={workerLines} text={count} steps={wholeSteps} data={data} cursor={cursor} />
					<Chart title="Age of the oldest message, recorded and simulated" lines={ageLines} text={duration} steps={timeSteps} data={data} cursor={cursor} />
				</div>
			)}
			<section class="block" aria-labelledby="compared">
				<h2 id="compared">Compared</h2>
				<Compared rows={answer.rows ?? []} currency={currency} />
			</section>
			{answer.yaml && (
				<section class="block" aria-labelledby="as-configuration">
					<header>
						<h2 id="as-configuration">As configuration</h2>
						<CopyButton text={answer.yaml} label="Copy" />
					</header>
					<pre>{answer.yaml}</pre>
				</section>
			)}
		</>
	);
}

function Compared({ rows, currency }: { rows: WhatIfRow[]; currency: string | undefined }) {
	return (
		<Table
			name="Table of policies"
			columns={[
				{ label: "Policy" }, { label: "In time", number: true }, { label: "Worker hours", number: true },
				{ label: "Cost", number: true }, { label: "Changes of size", number: true },
			]}
			rows={rows.map((r) => ({
				key: r.name,
				cells: [r.name, share(r.attainment), decimal(r.worker_hours), cost(r.cost, currency), count(r.scale_events)],
			}))}
		/>
	);
}

function cost(n: Known, currency: string | undefined): string {
	return n === null ? "–" : money(n, currency);
}
