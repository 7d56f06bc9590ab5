// The fleet list: one row for each fleet, the worst first.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get } from "../api.ts";
import { arranged, type Order, stateWords, totals } from "../board.ts";
import { AgeBar, Spark } from "../chart/spark.tsx";
import type { Curves, FleetRow, FleetState, Known } from "../contract.ts";
import { count, money, plural, share } from "../format.ts";
import { state } from "../live.ts";
import { Chip, Figure, Notice } from "../part/basic.tsx";
import { link } from "../route.ts";
import { Store, useStore } from "../store.ts";
import { visible } from "../virtual.ts";

/** narrow is true on screens where a row becomes a card. */
const narrow = matchMedia("(max-width: 860px)");
const rowHeight = () => (narrow.matches ? 232 : 86);

// Curves are read for the drawn rows alone, at most a hundred at once. unread says why they could not be read.
const curves = new Store<ReadonlyMap<string, Known[]>>(new Map());
const unread = new Store("");
const readAt = new Map<string, number>();
let reading = false;
/** readEvery is after how many milliseconds the curve of a drawn row is read again. */
const readEvery = 10_000;

async function readCurves(names: string[]): Promise<void> {
	const old = performance.now() - readEvery;
	const wanted = names.filter((n) => (readAt.get(n) ?? Number.NEGATIVE_INFINITY) < old).slice(0, 100);
	if (reading || wanted.length === 0 || document.hidden) return;
	reading = true;
	for (const n of wanted) readAt.set(n, performance.now());
	try {
		const query = wanted.map(encodeURIComponent).join(",");
		const got = await get<Curves>(`v1/curves?window=1h&points=180&fleets=${query}`);
		const next = new Map(curves.value);
		for (const [name, columns] of Object.entries(got.fleets ?? {})) next.set(name, columns.oldest_age_s ?? []);
		curves.value = next;
		unread.value = "";
	} catch (err) {
		unread.value = err instanceof Error ? err.message : String(err);
	} finally {
		reading = false;
	}
}

/** Fleets is the home page. */
export function Fleets() {
	const s = useStore(state);
	const [text, setText] = useState("");
	const [only, setOnly] = useState("");
	const [order, setOrder] = useState<Order>("state");
	const noCurves = useStore(unread);
	const rows = useMemo(() => arranged(s.rows.values(), text, only, order), [s.rows, text, only, order]);
	const sums = useMemo(() => totals(s.rows.values()), [s.rows]);
	if (!s.board) return <p class="muted">Reading the fleets…</p>;
	return (
		<>
			<header class="page">
				<h1>{headline(sums.states, s.rows.size)}</h1>
				<dl class="figures">
					<Figure label="in service">
						{count(sums.inService)}
						{sums.unknown > 0 && <small> and ? in {plural(sums.unknown, "fleet")}</small>}
					</Figure>
					<Figure label="in time, last hour">{share(sums.inTime)}</Figure>
					<Figure label="cost per hour">
						{sums.cost === null ? "no price" : money(sums.cost, s.board.currency)}
					</Figure>
					<Figure label="open incidents">
						<a href={link("incidents")}>{count(s.board.open_incidents)}</a>
					</Figure>
				</dl>
			</header>
			{(s.board.faults ?? []).map((f) => (
				<Notice kind="bad" key={f}>
					{f}
				</Notice>
			))}
			{noCurves && (
				<Notice kind="warn">The curves of the last hour are old: {noCurves} Muster is asked again.</Notice>
			)}
			<div class="filters" role="group" aria-label="Filter and order">
				<input
					type="search"
					placeholder="Filter by name"
					aria-label="Filter by name"
					value={text}
					onInput={(e) => setText(e.currentTarget.value)}
				/>
				<select aria-label="State" value={only} onChange={(e) => setOnly(e.currentTarget.value)}>
					<option value="">all states</option>
					{(Object.keys(stateWords) as FleetState[]).map((k) => (
						<option key={k} value={k}>
							{stateWords[k]}
						</option>
					))}
				</select>
				<select aria-label="Order" value={order} onChange={(e) => setOrder(e.currentTarget.value as Order)}>
					<option value="state">worst first</option>
					<option value="name">by name</option>
					<option value="age">oldest age first</option>
					<option value="backlog">largest backlog first</option>
					<option value="workers">most workers first</option>
					<option value="cost">highest cost first</option>
				</select>
				<span class="muted" role="status">
					{rows.length === s.rows.size
						? plural(rows.length, "fleet")
						: `${rows.length} of ${s.rows.size} fleets`}
				</span>
			</div>
			{s.rows.size === 0 ? (
				<Notice kind="plain">No fleet is configured. Add one under fleets: in the configuration.</Notice>
			) : (
				<List rows={rows} currency={s.board.currency} />
			)}
		</>
	);
}

// headline answers the first question in a sentence.
function headline(states: [FleetState, number][], all: number): string {
	const good = states.find(([s]) => s === "meeting")?.[1] ?? 0;
	if (all === 0) return "No fleets";
	if (good === all) return all === 1 ? "The fleet meets its objective" : `All ${all} fleets meet their objective`;
	const rest = states.filter(([s]) => s !== "meeting").map(([s, n]) => `${n} ${stateWords[s] ?? s}`);
	return `${rest.join(", ")}${good > 0 ? `, ${good} meeting` : ""}`;
}

// List draws the rows on the screen alone. The window scrolls, not the list.
function List({ rows, currency }: { rows: FleetRow[]; currency: string | undefined }) {
	const body = useRef<HTMLDivElement>(null);
	const [view, setView] = useState({ top: 0, screen: window.innerHeight, height: rowHeight() });
	useEffect(() => {
		const measure = () => {
			const top = -(body.current?.getBoundingClientRect().top ?? 0);
			setView({ top, screen: window.innerHeight, height: rowHeight() });
		};
		measure();
		window.addEventListener("scroll", measure, { passive: true });
		window.addEventListener("resize", measure);
		return () => {
			window.removeEventListener("scroll", measure);
			window.removeEventListener("resize", measure);
		};
	}, []);
	const span = visible(rows.length, view.height, view.top, view.screen);
	const drawn = rows.slice(span.first, span.last);
	const names = drawn.map((r) => r.name);
	useEffect(() => void readCurves(names), [names.join("\n"), state.value.board?.at]);
	return (
		<div class="fleets" role="table" aria-label="Fleets" aria-rowcount={rows.length + 1} onKeyDown={moveFocus}>
			<div role="rowgroup">
				<div role="row" class="row head" aria-rowindex={1}>
					{[
						"Fleet",
						"Oldest age / objective",
						"In time",
						"Backlog",
						"Working",
						"For retry",
						"Workers",
						"Cost/h",
						"Last hour",
					].map((h) => (
						<span role="columnheader" key={h}>
							{h}
						</span>
					))}
				</div>
			</div>
			<div role="rowgroup" ref={body} class="rows" style={{ height: `${rows.length * view.height}px` }}>
				<div role="presentation" style={{ transform: `translateY(${span.first * view.height}px)` }}>
					{drawn.map((r, i) => (
						<Row key={r.name} row={r} index={span.first + i + 2} currency={currency} />
					))}
				</div>
			</div>
		</div>
	);
}

// moveFocus lets the arrow keys go from row to row.
function moveFocus(e: KeyboardEvent): void {
	const by = { ArrowDown: 1, ArrowUp: -1, j: 1, k: -1 }[e.key];
	if (by === undefined || !(e.target instanceof HTMLAnchorElement)) return;
	const links = [...(e.currentTarget as HTMLElement).querySelectorAll<HTMLAnchorElement>("a.name")];
	const next = links[links.indexOf(e.target) + by];
	if (!next) return;
	next.focus();
	next.scrollIntoView({ block: "nearest" });
	e.preventDefault();
}

function Row({ row: r, index, currency }: { row: FleetRow; index: number; currency: string | undefined }) {
	const curve = useStore(curves, (m) => m.get(r.name));
	return useMemo(
		() => (
			<div role="row" class={`row ${r.state}`} aria-rowindex={index}>
				<span role="cell" class="who">
					<span>
						<a class="name" href={link("fleet", r.name)} title={r.name}>
							{r.name}
						</a>
						<Chip state={r.state} />
						{r.at_max && <span class="tag">at max</span>}
						{r.overrides && (
							<span class="tag" title={r.overrides}>
								override
							</span>
						)}
					</span>
					{sentences(r).map((text, i) => (
						<span class={i === 0 ? "said" : "said last"} title={text} key={i}>
							{text}
						</span>
					))}
				</span>
				<span role="cell" data-label="Oldest age">
					<AgeBar age={r.oldest_age_s} limit={r.objective_s} />
				</span>
				<span role="cell" class="number" data-label="In time">
					{share(r.in_time)}
				</span>
				<span role="cell" class="number" data-label="Backlog">
					{count(r.backlog)}
				</span>
				<span role="cell" class="number" data-label="Working">
					{count(r.working)}
				</span>
				<span role="cell" class="number" data-label="For retry">
					{count(r.retrying)}
				</span>
				<span role="cell" class="workers" data-label="Workers">
					<span class="number">
						{count(r.desired)} → <b>{count(r.in_service)}</b> <span class="muted">in service</span>
					</span>
					<span class="muted">{parts(r)}</span>
				</span>
				<span role="cell" class="number" data-label="Cost/h">
					{r.cost_per_hour === null ? "–" : money(r.cost_per_hour, currency)}
				</span>
				<span role="cell" class="curve" data-label="Last hour">
					<Spark values={curve} limit={r.objective_s} />
				</span>
			</div>
		),
		[r, index, curve, currency],
	);
}

// sentences are the last decision, and before it the reason of a state that is not good.
function sentences(r: FleetRow): string[] {
	const decided = r.decision?.sentence ?? "";
	return [r.state === "meeting" && decided ? "" : r.why, decided].filter((text) => text !== "");
}

// parts says what the members do. States without a member are left out.
function parts(r: FleetRow): string {
	const named: [Known, string][] = [
		[r.busy, "busy"],
		[r.idle, "idle"],
		[r.pending, "pending"],
		[r.draining, "draining"],
		[r.lost, "silent"],
	];
	const text = named.filter(([n]) => n !== 0).map(([n, name]) => `${count(n)} ${name}`);
	return text.join(", ") || "none";
}
