// The recorded decisions of a fleet, with filters in the address, so that a filtered list can be sent to somebody; and
// one decision on a page of its own.

import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "../api.ts";
import type { DecisionPage, DecisionRecord, ShortDecision } from "../contract.ts";
import { count, words } from "../format.ts";
import { state } from "../live.ts";
import { download, Loading, Notice, Time, useGet } from "../part/basic.tsx";
import { change, Record, recordPath } from "../part/decision.tsx";
import { Table } from "../part/table.tsx";
import { link, type Route } from "../route.ts";
import { useStore } from "../store.ts";

const verdicts = ["apply", "hold", "shadow", "delegate"];

/** Decisions is the page of a fleet's decisions, or of the latest decisions of all fleets. */
export function Decisions({ route }: { route: Route }) {
	const rows = useStore(state, (s) => s.rows);
	const names = useMemo(() => [...rows.keys()].sort(), [rows]);
	const fleet = route.name;
	const go = (name: string, query: Record<string, string>) => {
		location.hash = link("decisions", name, query);
	};
	const set = (key: string, value: string) => go(fleet, { ...route.query, [key]: value });
	return (
		<>
			<header class="page">
				<h1>Decisions</h1>
			</header>
			<div class="filters" role="group" aria-label="Filter">
				<select aria-label="Fleet" value={fleet} onChange={(e) => go(e.currentTarget.value, route.query)}>
					<option value="">all fleets, the latest</option>
					{names.map((n) => (
						<option key={n} value={n}>
							{n}
						</option>
					))}
				</select>
				<select
					aria-label="Verdict"
					value={route.query.verdict ?? ""}
					onChange={(e) => set("verdict", e.currentTarget.value)}
				>
					<option value="">every verdict</option>
					{verdicts.map((v) => (
						<option key={v}>{v}</option>
					))}
				</select>
				<label>
					<input
						type="checkbox"
						checked={route.query.changes === "1"}
						onChange={(e) => set("changes", e.currentTarget.checked ? "1" : "")}
					/>{" "}
					changes of size only
				</label>
				<input
					type="search"
					placeholder="Words of the sentence"
					aria-label="Words of the sentence"
					value={route.query.q ?? ""}
					onChange={(e) => set("q", e.currentTarget.value)}
				/>
				{fleet && (
					<button type="button" onClick={() => void save(fleet)}>
						Export as JSON
					</button>
				)}
			</div>
			{fleet ? <OfFleet fleet={fleet} query={route.query} /> : <Latest query={route.query} />}
		</>
	);
}

async function save(fleet: string): Promise<void> {
	download(`decisions-${fleet}.json`, await get(`v1/decisions?fleet=${encodeURIComponent(fleet)}&limit=1000`));
}

// OfFleet reads the history page by page.
function OfFleet({ fleet, query }: { fleet: string; query: Record<string, string> }) {
	const search = new URLSearchParams({ limit: "100" });
	for (const key of ["verdict", "reason", "policy", "changes", "q"]) if (query[key]) search.set(key, query[key]);
	const base = `v1/fleets/${encodeURIComponent(fleet)}/decisions?${search}`;
	const first = useGet<DecisionPage>(base);
	const [more, setMore] = useState<{ rows: ShortDecision[]; next: string; error: string } | null>(null);
	useEffect(() => setMore(null), [base]);
	const rows = [...(first.value?.decisions ?? []), ...(more?.rows ?? [])];
	const next = more ? more.next : (first.value?.next ?? "");
	const older = async () => {
		try {
			const page = await get<DecisionPage>(`${base}&before=${encodeURIComponent(next)}`);
			setMore({ rows: [...(more?.rows ?? []), ...page.decisions], next: page.next ?? "", error: "" });
		} catch (err) {
			setMore({ rows: more?.rows ?? [], next, error: err instanceof Error ? err.message : String(err) });
		}
	};
	return (
		<>
			<Loading of={first} what="the decisions" />
			{first.value && <List rows={rows} />}
			{more?.error && <Notice kind="bad">{more.error}</Notice>}
			{next && (
				<button type="button" onClick={() => void older()}>
					Older decisions
				</button>
			)}
		</>
	);
}

// Latest shows the decisions that the stream told since the page was opened, and the last one of each fleet before.
function Latest({ query }: { query: Record<string, string> }) {
	const s = useStore(state);
	const rows = useMemo(() => {
		const seen = new Set(s.decisions.map((d) => d.id));
		const last = [...s.rows.values()].flatMap((r) =>
			r.decision?.sentence && !seen.has(r.decision.id) ? [{ fleet: r.name, ...r.decision }] : [],
		);
		return [...s.decisions, ...last]
			.sort((a, b) => Date.parse(b.at) - Date.parse(a.at))
			.filter((d) => fits(d, query));
	}, [s.decisions, s.rows, query]);
	return <List rows={rows} />;
}

// fits filters what the server did not filter.
function fits(d: ShortDecision, query: Record<string, string>): boolean {
	if (query.verdict && d.verdict !== query.verdict) return false;
	if (query.changes === "1" && d.previous === d.desired) return false;
	return !query.q || d.sentence.toLowerCase().includes(query.q.toLowerCase());
}

function List({ rows }: { rows: ShortDecision[] }) {
	if (rows.length === 0) return <p class="muted">No decision fits.</p>;
	return (
		<Table
			name="Decisions"
			columns={[
				{ label: "Time" },
				{ label: "Fleet" },
				{ label: "Workers", number: true },
				{ label: "Verdict" },
				{ label: "Policy" },
				{ label: "Sentence", wrap: true },
			]}
			rows={rows.map((d, i) => ({
				key: d.id || String(i),
				cells: [
					d.id ? (
						<a href={link("decision", d.id)}>
							<Time at={d.at} />
						</a>
					) : (
						<Time at={d.at} />
					),
					d.fleet,
					change(d),
					`${d.verdict}${d.reason ? `, ${words(d.reason)}` : ""}`,
					d.policy,
					d.sentence,
				],
			}))}
		/>
	);
}

/** DecisionPermalink is the page of one decision. */
export function DecisionPermalink({ route }: { route: Route }) {
	const read = useGet<DecisionRecord>(recordPath(route.name));
	const d = read.value?.record.decision;
	const fleet = route.name.slice(0, route.name.lastIndexOf("/"));
	return (
		<>
			<header class="page">
				<h1>
					{fleet}
					{d && (
						<>
							: {change(d)}{" "}
							<small>of at most {count(read.value?.record.observation.limits.max ?? null)}</small>
						</>
					)}
				</h1>
				<p>
					<a href={link("fleet", fleet)}>The fleet</a> ·{" "}
					<a href={link("decisions", fleet)}>its decisions</a>{" "}
					·{" "}
					<button
						type="button"
						class="quiet"
						onClick={() => download(`decision-${route.name.replace("/", "-")}.json`, read.value)}
					>
						Export as JSON
					</button>
				</p>
			</header>
			<Loading of={read} what="the decision" />
			{read.value && (
				<section class="block" aria-labelledby="explained">
					<h2 id="explained">Explained</h2>
					<Record record={read.value} />
				</section>
			)}
		</>
	);
}
