// One fleet: the answers to an operator's five questions, four linked charts, and what the workers do.

import { useEffect, useMemo, useState } from "preact/hooks";
import { mayWrite } from "../api.ts";
import { type Action, ActionDialog, actionsOf } from "../part/action.tsx";
import { Ago, Chip, Figure, Loading, Notice, useGet } from "../part/basic.tsx";
import { AgeBar } from "../chart/spark.tsx";
import { Charts } from "./charts.tsx";
import { arrivals, changes, cost, deadLetters, inside, next, recommended, safe, waited } from "../answers.ts";
import { DecisionDialog, Trail } from "../part/decision.tsx";
import { Letters, Failures, Trees, Workers } from "./workers.tsx";
import type { FleetDetail, FleetRow, Override, Overrides, ShortDecision } from "../contract.ts";
import { count, decimal, duration, money, quantile } from "../format.ts";
import { detail, follow, state } from "../live.ts";
import { link, type Route } from "../route.ts";
import { useStore } from "../store.ts";

/** Fleet is the page of one fleet. */
export function Fleet({ route }: { route: Route }) {
	const name = route.name;
	useEffect(() => {
		follow(name);
		return () => follow("");
	}, [name]);
	const board = useStore(state, (s) => s.board);
	const row = useStore(state, (s) => s.rows.get(name));
	const told = useStore(detail);
	// the stream sends the details with the next step; the first ones come faster by a request
	const first = useGet<FleetDetail>(`v1/fleets/${encodeURIComponent(name)}`);
	const shown = told?.row?.name === name ? told : first.value;
	const given = useGet<Overrides>(`v1/fleets/${encodeURIComponent(name)}/overrides`, 30, row?.overrides);
	const overrides = given.value?.overrides ?? none;
	const [opened, open] = useState<ShortDecision | null>(null);
	const [action, act] = useState<Action | null>(null);
	if (!board) return <p class="muted">Reading the fleet…</p>;
	if (!row) {
		return (
			<Notice kind="warn">
				There is no fleet {name}. <a href={link("fleets")}>All fleets</a>
			</Notice>
		);
	}
	return (
		<>
			<header class="page">
				<h1>
					{name} <Chip state={row.state} />
				</h1>
				<p class="lead">{row.why}</p>
			</header>
			{shown?.status?.trouble && <Notice kind="bad">{shown.status.trouble}</Notice>}
			{!shown && <Loading of={first} what="its workers and failures" />}
			{given.error && <Loading of={given} what="its overrides" />}
			{overrides.map((o) => (
				<Notice kind="warn" key={o.id}>
					{o.text}; {o.active ? "ends" : "begins"} <Ago at={o.active ? o.end : o.begin} />
					{o.by && ` (by ${o.by})`}{" "}
					{mayWrite() && (
						<button
							type="button"
							class="quiet"
							onClick={() => act({ kind: "cancel", fleet: name, override: o })}
						>
							End it now
						</button>
					)}
				</Notice>
			))}
			<Answers row={row} shown={shown} overrides={overrides} currency={board.currency} act={act} open={open} />
			<Charts fleet={name} row={row} at={board.at} onDecision={open} />
			<Workers fleet={name} shown={shown} />
			<Failures shown={shown} fleet={name} />
			<Letters shown={shown} />
			<Trees shown={shown} />
			{opened && (
				<DecisionDialog key={opened.id} decision={{ fleet: name, ...opened }} onClose={() => open(null)} />
			)}
			{action && <ActionDialog action={action} row={row} done={given.again} onClose={() => act(null)} />}
		</>
	);
}

const none: Override[] = [];

interface AnswersProps {
	row: FleetRow;
	overrides: Override[];
	shown: FleetDetail | null;
	currency: string | undefined;
	act: (a: Action) => void;
	open: (d: ShortDecision) => void;
}

// Answers has a card for each question: inside the objective? why this many? what next? what does it cost? what may I
// change?
function Answers({ row: r, shown, overrides, currency, act, open }: AnswersProps) {
	const d = r.decision;
	const decision = shown?.status?.decision;
	const failed = shown?.status?.observation?.progress?.last_error;
	const would = changes(shown?.explanation, r.desired);
	const actions = useMemo(() => actionsOf(r.name, overrides), [r.name, overrides]);
	const now = inside(r);
	return (
		<div class="answers">
			<section aria-labelledby="q1">
				<h2 id="q1">Inside the objective now?</h2>
				<p class="big">
					{now.word} <small>{now.text}</small>
				</p>
				<p>
					Objective: {quantile(r.quantile)} within{" "}
					{duration(r.objective_s)}. {waited(r)}
				</p>
				<AgeBar age={r.oldest_age_s} limit={r.objective_s} />
				<dl class="figures">
					<Figure label="backlog">{count(r.backlog)}</Figure>
					<Figure label="working">{count(r.working)}</Figure>
					<Figure label="waiting for retry">{count(r.retrying)}</Figure>
					<Figure label="late">{count(r.late)}</Figure>
					<Figure label="dead letters" title={letterTitle}>
						{deadLetters(r, shown)}
					</Figure>
				</dl>
				{failed && r.state === "failing" && <p class="error-text">{failed}</p>}
			</section>
			<section aria-labelledby="q2">
				<h2 id="q2">Why this many workers?</h2>
				<p class="big">
					{count(r.desired)} <small>desired,</small> {count(r.in_service)} <small>in service</small>
				</p>
				<dl class="figures">
					<Figure label="busy">{count(r.busy)}</Figure>
					<Figure label="idle">{count(r.idle)}</Figure>
					<Figure label="pending">{count(r.pending)}</Figure>
					<Figure label="draining">{count(r.draining)}</Figure>
					<Figure label="silent">{count(r.lost)}</Figure>
				</dl>
				{recommended(r) && <p>{recommended(r)}</p>}
				<p class="sentence">{d.sentence || "No decision was made yet."}</p>
				{d.sentence && (
					<p>
						<Ago at={d.at} /> by {d.policy}{" "}
						{d.id && (
							<button type="button" class="quiet" onClick={() => open(d)}>
								All inputs
							</button>
						)}
					</p>
				)}
			</section>
			<section aria-labelledby="q3">
				<h2 id="q3">What happens next?</h2>
				<p class="big">
					{r.expected_s === null ? "Unknown" : duration(r.expected_s)}{" "}
					<small>expected for a message that arrives now</small>
				</p>
				<p>{arrivals(r, decimal)}</p>
				{next(r).map((l) => (
					<p key={l}>{l}</p>
				))}
				{shown?.explanation?.why_not_more && (
					<p>
						<b>Why not more:</b> {shown.explanation.why_not_more}
					</p>
				)}
				{would.length > 0 && <b>What would change it</b>}
				{would.length > 0 && (
					<ul class="plain">
						{would.slice(0, 4).map((l) => (
							<li key={l}>{l}</li>
						))}
					</ul>
				)}
				{decision?.trail && (
					<details>
						<summary>Arithmetic of the last decision</summary>
						<Trail decision={decision} />
					</details>
				)}
			</section>
			<section aria-labelledby="q4">
				<h2 id="q4">What does it cost?</h2>
				<p class="big">
					{r.cost_per_hour === null ? "No price" : money(r.cost_per_hour, currency)}{" "}
					{r.cost_per_hour !== null && <small>per hour</small>}
				</p>
				<p>{cost(r, currency)}</p>
			</section>
			<section aria-labelledby="q5">
				<h2 id="q5">What may I safely change?</h2>
				{safe(r).map((l) => (
					<p key={l}>{l}</p>
				))}
				<p class="muted">
					Between {count(r.min)} and {count(r.max)} workers. Every change shows its plan first, needs a reason
					and ends by itself. A busy worker is never stopped.
				</p>
				<div class="buttons">
					{mayWrite() ? (
						actions.map((a, i) => (
							// Resume takes the place of Pause: the focus comes back to it when the dialog closes.
							<button type="button" key={i} onClick={() => act(a)}>
								{a.label}
							</button>
						))
					) : (
						<p class="muted">This session may only read.</p>
					)}
				</div>
				<p>
					{r.at_max ? (
						<a href={link("whatif", r.name, { set: `max: ${r.decision.wish}` })}>
							Try a maximum of {count(r.decision.wish)} on its history
						</a>
					) : (
						<a href={link("whatif", r.name)}>Try another policy on its history</a>
					)}{" "}
					· <a href={link("decisions", r.name)}>All its decisions</a>
				</p>
			</section>
		</div>
	);
}

const letterTitle = "Messages that no attempt is left for. They are kept if the queue has a dead-letter queue.";
