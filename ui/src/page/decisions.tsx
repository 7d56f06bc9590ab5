// The recorded decisions of one fleet or of all, with filters in the address, so that a filtered list can be sent to
// somebody; and one decision on a page of its own.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../api.ts";
import { merged } from "../board.ts";
import type { DecisionPage, DecisionRecord, ShortDecision } from "../contract.ts";
import { count, words } from "../format.ts";
import { state } from "../live.ts";
import { download, Loading, Notice, Time, useGet } from "../part/basic.tsx";
import { change, Record, recordPath } from "../part/decision.tsx";
import { Table } from "../part/table.tsx";
import { link, type Route } from "../route.ts";
import { useStore } from "../store.ts";

const verdicts = ["apply", "hold", "shadow", "delegate"];

/** Decisions is the page of the decisions of one fleet, or of all fleets. */
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
					<option value="">all fleets</option>
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
					onInput={(e) => set("q", e.currentTarget.value)}
				/>
			</div>
			<Found fleet={fleet} query={route.query} />
		</>
	);
}

// More is what was read behind the first page of a list.
interface More {
	base: string;
	rows: ShortDecision[];
	/** next is where the list goes on; null while only the first page was read. */
	next: string | null;
	cut: boolean;
	error: string;
	busy: boolean;
}

// usePages reads a list page by page. A page that comes after the list was changed is dropped, and only one is read at a
// time.
function usePages(base: string) {
	const first = useGet<DecisionPage>(base);
	const nothing: More = { base, rows: [], next: null, cut: false, error: "", busy: false };
	const [kept, keep] = useState<More>(nothing);
	const more = kept.base === base ? kept : nothing;
	const reading = useRef<AbortController | null>(null);
	useEffect(() => () => reading.current?.abort(), [base]);
	const next = more.next ?? first.value?.next ?? "";
	const older = async () => {
		if (reading.current || next === "") return;
		const controller = new AbortController();
		reading.current = controller;
		keep({ ...more, busy: true, error: "" });
		try {
			const page = await get<DecisionPage>(`${base}&before=${encodeURIComponent(next)}`, controller.signal);
			const rows = [...more.rows, ...page.decisions];
			keep({ base, rows, next: page.next ?? "", cut: page.cut === true, error: "", busy: false });
		} catch (err) {
			if (!controller.signal.aborted)
				keep({ ...more, busy: false, error: err instanceof Error ? err.message : String(err) });
		} finally {
			if (reading.current === controller) reading.current = null;
		}
	};
	const rows = first.value ? [...first.value.decisions, ...more.rows] : [];
	return { first, rows, next, cut: more.cut || first.value?.cut === true, more, older };
}

// Found lists what the filter selects: what the history has, and in front of it what the stream tells.
function Found({ fleet, query }: { fleet: string; query: Record<string, string> }) {
	const search = new URLSearchParams({ limit: "100" });
	for (const key of ["verdict", "reason", "policy", "changes", "q"]) if (query[key]) search.set(key, query[key]);
	const base = `v1/${fleet ? `fleets/${encodeURIComponent(fleet)}` : "board"}/decisions?${search}`;
	const { first, rows, next, cut, more, older } = usePages(base);
	const news = useStore(state, (s) => s.decisions);
	const all = useMemo(
		() => merged(news.filter((d) => (fleet === "" || d.fleet === fleet) && fits(d, query)), rows),
		[news, rows.length, first.value, base],
	);
	return (
		<>
			<Export fleet={fleet} rows={all} />
			<Loading of={first} what="the decisions" />
			{first.value && <List rows={all} />}
			{more.error && <Notice kind="bad">{more.error}</Notice>}
			{next && (
				<button type="button" disabled={more.busy} onClick={() => void older()}>
					{more.busy ? "Reading…" : "Older decisions"}
				</button>
			)}
			{cut && (
				<p class="muted">Older decisions of all fleets were not searched. Choose a fleet to search its own.</p>
			)}
		</>
	);
}

// Export saves the last decisions of a fleet with their inputs, or the list of all fleets as it is shown.
function Export({ fleet, rows }: { fleet: string; rows: ShortDecision[] }) {
	const [error, setError] = useState("");
	const [busy, setBusy] = useState(false);
	const save = async () => {
		setError("");
		if (!fleet) return download("decisions.json", { decisions: rows });
		setBusy(true);
		try {
			const path = `v1/decisions?fleet=${encodeURIComponent(fleet)}&limit=1000`;
			download(`decisions-${fleet}.json`, await get(path));
		} catch (err) {
			setError(`Nothing was exported: ${err instanceof Error ? err.message : String(err)}`);
		} finally {
			setBusy(false);
		}
	};
	return (
		<div class="filters">
			<button type="button" disabled={busy} onClick={() => void save()}>
				{busy ? "Exporting…" : "Export as JSON"}
			</button>
			<span class="muted">
				{fleet ? "the last 1\u202f000 decisions of the fleet with their inputs" : "the decisions listed here"}
			</span>
			{error && <Notice kind="bad">{error}</Notice>}
		</div>
	);
}

// fits filters what the server did not filter.
function fits(d: ShortDecision, query: Record<string, string>): boolean {
	if (query.verdict && d.verdict !== query.verdict) return false;
	if (query.reason && d.reason !== query.reason) return false;
	if (query.policy && d.policy !== query.policy && !d.policy.startsWith(`${query.policy}/`)) return false;
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
						disabled={!read.value}
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
