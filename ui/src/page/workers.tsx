// What the workers of a fleet do: members with their logs, failed attempts, dead letters and trees of recursive work.

import { useState } from "preact/hooks";
import { mayWrite } from "../api.ts";
import type { FleetDetail, LogRecord, Member } from "../contract.ts";
import { count, duration, plural, words } from "../format.ts";
import { mayRelease } from "../override.ts";
import { Ago, Loading, Time, useGet } from "../part/basic.tsx";
import { ReleaseDialog } from "../part/release.tsx";
import { Table } from "../part/table.tsx";
import { link } from "../route.ts";

interface Shown {
	shown: FleetDetail | null;
}

/** shownMembers bounds the rows of the table. */
const shownMembers = 200;

/** Workers is the table of members, with the log of each and, for who may change things, its release. */
export function Workers({ shown, fleet }: Shown & { fleet: string }) {
	const members = shown?.status?.members ?? [];
	const [opened, open] = useState("");
	const [asked, ask] = useState<Member | null>(null);
	const writes = mayWrite();
	return (
		<section class="block" aria-labelledby="workers-title">
			<h2 id="workers-title">Workers</h2>
			{members.length === 0 ? (
				<p class="muted">No worker runs.</p>
			) : (
				<Table
					name="Table of workers"
					columns={[
						{ label: "Worker", wrap: true },
						{ label: "State" },
						{ label: "Busy slots", number: true },
						{ label: "Message for", number: true },
						{ label: "Launched" },
						{ label: "Last problem", bad: true },
						{ label: "Log" },
						...(writes ? [{ label: "Action" }] : []),
					]}
					rows={members.slice(0, shownMembers).map((m) => ({
						key: m.id,
						cells: [
							m.id,
							words(m.state),
							`${count(m.busy)} of ${count(m.slots)}`,
							m.busy > 0 ? duration(m.held_mean_s ?? null) : "–",
							<Ago at={m.launched_at} />,
							problem(m),
							<button
								type="button"
								class="quiet"
								aria-expanded={opened === m.id}
								aria-label={`${opened === m.id ? "Hide" : "Show"} the log of ${m.id}`}
								onClick={() => open(opened === m.id ? "" : m.id)}
							>
								{opened === m.id ? "Hide" : "Show"}
							</button>,
							mayRelease(m) ? (
								<button
									type="button"
									class="quiet"
									aria-label={`Release ${m.id}`}
									onClick={() => ask(m)}
								>
									Release
								</button>
							) : (
								"–"
							),
						],
					}))}
				/>
			)}
			{members.length > shownMembers && <p class="muted">and {members.length - shownMembers} more</p>}
			{opened && <Log key={opened} fleet={fleet} member={opened} />}
			{asked && (
				<ReleaseDialog
					fleet={fleet}
					member={members.find((m) => m.id === asked.id) ?? { ...asked, state: "ended" }}
					onClose={() => ask(null)}
				/>
			)}
		</section>
	);
}

// problem is the last problem of a worker.
function problem(m: Member): string {
	const last = m.incidents?.[m.incidents.length - 1];
	return last ? `${words(last.kind)}: ${last.text}` : "";
}

// Log shows the last lines of a worker, read again every five seconds.
function Log({ fleet, member }: { fleet: string; member: string }) {
	const [failed, setFailed] = useState(false);
	const path = `v1/fleets/${encodeURIComponent(fleet)}/logs?limit=200&member=${encodeURIComponent(member)}`;
	const read = useGet<{ records?: LogRecord[] | null; cut?: boolean }>(`${path}${failed ? "&failed=1" : ""}`, 5);
	const records = read.value?.records ?? [];
	return (
		<section class="log" aria-label={`Log of ${member}`}>
			<header>
				<h3>Log of {member}</h3>
				<label>
					<input type="checkbox" checked={failed} onChange={(e) => setFailed(e.currentTarget.checked)} />{" "}
					failures only
				</label>
			</header>
			<Loading of={read} what="the log" />
			{read.value && records.length === 0 && <p class="muted">There are no lines.</p>}
			<ol class="lines" tabIndex={0}>
				{records.map((r, i) => (
					<li key={i} class={r.failure || r.level === "error" ? "error-text" : ""}>
						<Time at={r.at} /> {r.stream && <span class="muted">{r.stream}</span>}{" "}
						{r.message && <span class="muted">{r.message.slice(0, 8)}</span>}{" "}
						{r.text ?? r.failure?.error ?? r.kind}
					</li>
				))}
			</ol>
		</section>
	);
}

/** fewFailures are shown at first. */
const fewFailures = 8;

/** Failures lists the last failed attempts. */
export function Failures({ shown, fleet }: Shown & { fleet: string }) {
	const failures = shown?.failures ?? [];
	const [all, setAll] = useState(false);
	if (failures.length === 0) return null;
	return (
		<section class="block" aria-labelledby="failures-title">
			<h2 id="failures-title">Failed attempts</h2>
			<Table
				name="Table of failed attempts"
				columns={[
					{ label: "When" },
					{ label: "Message", wrap: true },
					{ label: "Attempt", number: true },
					{ label: "Error", bad: true },
					{ label: "Took", number: true },
					{ label: "Next" },
				]}
				rows={failures
					.slice(0, all ? undefined : fewFailures)
					.map((r) => ({ key: `${r.message} ${r.at}`, cells: failureCells(r) }))}
			/>
			{failures.length > fewFailures && (
				<button type="button" onClick={() => setAll(!all)}>
					{all ? "Show fewer" : `Show all ${failures.length}`}
				</button>
			)}
			<p class="muted">
				On the command line: <code>muster logs {fleet} --failed</code>
			</p>
		</section>
	);
}

function failureCells(r: LogRecord) {
	const f = r.failure;
	return [
		<Time at={r.at} />,
		<span class="mono">{r.message}</span>,
		f?.attempt ? count(f.attempt) : "?",
		<>
			{f?.error ?? r.text}
			{f?.output && <pre>{f.output}</pre>}
		</>,
		duration(f?.took_seconds ?? null),
		f?.dead_letter ? "dead letter" : f?.again_seconds ? `again after ${duration(f.again_seconds)}` : "?",
	];
}

/** Letters lists the dead-letter queues of a fleet, and why their newest messages failed. */
export function Letters({ shown }: Shown) {
	const letters = (shown?.dead_letters ?? []).filter((d) => d.messages !== 0);
	if (letters.length === 0) return null;
	return (
		<section class="block" aria-labelledby="dead-title">
			<h2 id="dead-title">Dead letters</h2>
			{letters.map((d) => (
				<div key={d.queue}>
					<p>
						<a href={link("queues", d.queue)}>{d.queue}</a>:{" "}
						{d.messages === null ? "an unknown number of messages" : plural(d.messages, "message")}
						{d.source ? ` from ${d.source}` : ""}. Its page can redrive them.
					</p>
					<ul class="plain">
						{(d.reasons ?? []).map((r) => (
							<li key={r.message}>
								<span class="mono">{r.message}</span> sent <Ago at={r.sent} />,{" "}
								{plural(r.receives, "receive")}
								{r.failure && <span class="error-text">: {r.failure.error}</span>}
							</li>
						))}
					</ul>
				</div>
			))}
		</section>
	);
}

/** Trees shows the progress of recursive work, by depth. */
export function Trees({ shown }: Shown) {
	const trees = shown?.trees ?? [];
	if (trees.length === 0) return null;
	return (
		<section class="block" aria-labelledby="trees-title">
			<h2 id="trees-title">Trees</h2>
			{trees.map((t) => (
				<article key={t.root}>
					<h3>
						{t.root} <span class="muted">{words(t.state)}</span>
					</h3>
					<progress
						max={Math.max(t.expected ?? 0, t.created, 1)}
						value={t.done + t.failed}
						aria-label={`Progress of ${t.root}`}
					/>
					<p>
						{count(t.done)} done, {count(t.failed)} failed of {count(t.created)} known,{" "}
						{t.expected === null ? "the whole is unknown" : `about ${count(t.expected)} expected`}
						{t.left_s === null || t.left_s === undefined ? "" : `, about ${duration(t.left_s)} left`}
					</p>
					<ol class="depths">
						{(t.depths ?? []).map((l) => (
							<li key={l.depth}>
								<span class="muted">depth {l.depth}</span>
								<progress
									max={l.created || 1}
									value={l.done + l.failed}
									aria-label={`Depth ${l.depth} of ${t.root}`}
								/>
								<span class="number">
									{count(l.done)} / {count(l.created)}
								</span>
							</li>
						))}
					</ol>
				</article>
			))}
		</section>
	);
}
