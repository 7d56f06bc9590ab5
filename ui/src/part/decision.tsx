// A decision with everything that explains it: the trail of its arithmetic, its inputs and limits, and what would
// change it.

import { useEffect, useRef } from "preact/hooks";
import type { Decision, DecisionRecord, Explanation, Observation, Sample, ShortDecision, Term } from "../contract.ts";
import { count, decimal, duration, named, quantile, words } from "../format.ts";
import { link } from "../route.ts";
import { Ago, Loading, Time, useGet } from "./basic.tsx";
import { Table } from "./table.tsx";

/** change prints the sizes before and after. */
export function change(d: { previous: number; desired: number; verdict: string }): string {
	if (d.verdict === "hold") return `hold ${count(d.desired)}`;
	return d.previous === d.desired ? `stay ${count(d.desired)}` : `${count(d.previous)} → ${count(d.desired)}`;
}

/** recordPath is where a decision is read. An id is FLEET/EPOCH.SEQUENCE. */
export function recordPath(id: string): string {
	const cut = id.lastIndexOf("/");
	return `v1/decisions/${encodeURIComponent(id.slice(0, cut))}/${encodeURIComponent(id.slice(cut + 1))}`;
}

/** Trail is the arithmetic of a decision, a row for each step. */
export function Trail({ decision }: { decision: Decision }) {
	return (
		<Table
			name="Arithmetic of the decision"
			columns={[
				{ label: "Rule" },
				{ label: "Why", wrap: true },
				{ label: "Numbers", wrap: true },
				{ label: "Workers", number: true },
			]}
			rows={(decision.trail ?? []).map((t, i) => ({
				key: String(i),
				cells: [words(t.rule), t.why, numbers(t), count(t.out)],
			}))}
		/>
	);
}

function numbers(t: Term) {
	return (t.in ?? []).map((v) => {
		const [name, text] = named(v.name, v.value);
		return (
			<span class="pair muted" key={v.name}>
				{name} <b>{text}</b>{" "}
			</span>
		);
	});
}

function sample(s: Sample | undefined, print: (n: number) => string): string {
	if (!s) return "?";
	return s.known ? print(s.value) : `?${s.reason ? ` (${s.reason})` : ""}`;
}

/** Inputs are the numbers that a decision was made from. */
export function Inputs({ observation: o }: { observation: Observation }) {
	const c = o.capacity ?? {};
	const rows: [string, string][] = [];
	for (const q of o.queues ?? []) {
		const of = (o.queues?.length ?? 0) > 1 ? ` of ${q.queue}` : "";
		rows.push([`backlog${of}`, sample(q.backlog, count)]);
		rows.push([`in flight${of}`, sample(q.in_flight, count)]);
		rows.push([`oldest age${of}`, sample(q.oldest_age_s, duration)]);
	}
	const estimate = (e: { known: boolean; mean_s?: number } | undefined) =>
		e?.known ? duration(e.mean_s ?? null) : "?";
	rows.push(["processing duration, mean", estimate(o.processing)]);
	rows.push(["boot time, mean", estimate(o.boot)]);
	if (o.arrivals?.known)
		rows.push(["arrivals per second, last minute", decimal(Number(o.arrivals.minute_per_s ?? 0))]);
	for (const name of ["idle", "busy", "booting", "ordered", "draining", "lost", "slots"]) {
		if (typeof c[name] === "number")
			rows.push([`${name} ${name === "slots" ? "" : "workers"}`.trim(), count(c[name])]);
	}
	if (c.known === false) rows.push(["workers", `? (${String(c.reason ?? "the fleet cannot be listed")})`]);
	return <Pairs name="Inputs" rows={rows} />;
}

/** Limits are the bounds that hold for a decision. */
export function Limits({ observation: o }: { observation: Observation }) {
	const limits: [string, string][] = [
		["min", count(o.limits.min)],
		["max", count(o.limits.max)],
		["launches per hour", count(o.limits.launches_per_hour)],
		[
			"latency objective",
			`${quantile(o.objective.quantile)} within ${duration(o.objective.latency_ns / 1e9)}`,
		],
	];
	return <Pairs name="Limits" rows={limits} />;
}

function Pairs({ name, rows }: { name: string; rows: [string, string][] }) {
	return (
		<div class="pairs">
			<h3>{name}</h3>
			<dl>
				{rows.map(([k, v]) => (
					<div key={k}>
						<dt>{k}</dt>
						<dd>{v}</dd>
					</div>
				))}
			</dl>
		</div>
	);
}

/** WouldChange says which inputs would lead to another size. */
export function WouldChange({ explanation }: { explanation: Explanation | null | undefined }) {
	const lines = [
		...(explanation?.why_not_more ? [explanation.why_not_more] : []),
		...(explanation?.changes ?? []).map((c) => c.sentence ?? ""),
	].filter((l) => l !== "");
	if (lines.length === 0) return null;
	return (
		<div class="pairs">
			<h3>What would change it</h3>
			<ul class="plain">
				{lines.map((l) => (
					<li key={l}>{l}</li>
				))}
			</ul>
		</div>
	);
}

/** Record shows one recorded decision. */
export function Record({ record, short }: { record: DecisionRecord; short?: ShortDecision }) {
	const d = record.record.decision;
	return (
		<>
			<p class="sentence">{record.record.sentence || short?.sentence}</p>
			<p class="muted">
				<Time at={d.at} /> (<Ago at={d.at} />) · policy {d.policy} · {d.verdict}
				{d.reason ? `, ${words(d.reason)}` : ""} · recommended {count(d.wish)}, desired {count(d.desired)}
			</p>
			<Trail decision={d} />
			<div class="columns">
				<Inputs observation={record.record.observation} />
				<Limits observation={record.record.observation} />
				<WouldChange explanation={record.explanation} />
			</div>
		</>
	);
}

/** DecisionDialog shows a decision above the page until it is closed. */
export function DecisionDialog({ decision, onClose }: { decision: ShortDecision; onClose: () => void }) {
	const dialog = useRef<HTMLDialogElement>(null);
	const read = useGet<DecisionRecord>(decision.id ? recordPath(decision.id) : "");
	useEffect(() => {
		dialog.current?.showModal();
	}, []);
	return (
		<dialog ref={dialog} class="wide" onClose={onClose} aria-labelledby="decision-title">
			<header>
				<h2 id="decision-title">
					{decision.fleet ?? "Decision"}: {change(decision)}
				</h2>
				<a href={link("decision", decision.id)}>Permalink</a>
				<button type="button" class="quiet" onClick={() => dialog.current?.close()}>
					Close
				</button>
			</header>
			{read.value ? <Record record={read.value} short={decision} /> : <p class="sentence">{decision.sentence}</p>}
			<Loading of={read} what="the decision" />
		</dialog>
	);
}
