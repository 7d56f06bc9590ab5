// The embedded queues: counts, messages, and what a person may do with them.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { mayWrite, request, send, session } from "../api.ts";
import type { Known, Peek, PeekedMessage, QueueCounts, QueueMoves, Queues as Answer } from "../contract.ts";
import { bytes, count, duration, plural } from "../format.ts";
import { Ago, Loading, Notice, useGet } from "../part/basic.tsx";
import { Table } from "../part/table.tsx";
import { link, type Route } from "../route.ts";

const columns: [string, (c: QueueCounts) => ComponentChildren][] = [
	["Backlog", (c) => count(c.visible ?? null)],
	["In flight", (c) => count(c.in_flight ?? null)],
	["Delayed", (c) => count(c.delayed ?? null)],
	["Waiting for retry", (c) => count(c.retrying ?? null)],
	["Oldest sent", (c) => (c.oldest_sent ? <Ago at={c.oldest_sent} /> : "–")],
];

/** Queues is the page of all embedded queues, and of the one in the address. */
export function Queues({ route }: { route: Route }) {
	const read = useGet<Answer>("v1/queues", 2);
	const names = read.value?.queues ?? [];
	const [asked, ask] = useState<{ verb: Verb; queue: string } | null>(null);
	const [said, say] = useState("");
	const [changes, changed] = useState(0);
	const here = read.value?.counts?.[route.name];
	return (
		<>
			<header class="page">
				<h1>Queues</h1>
			</header>
			<div role="status">{said && <Notice kind="plain">{said}</Notice>}</div>
			<Loading of={read} what="the queues" />
			{read.value && names.length === 0 && (
				<Notice kind="plain">
					There are no embedded queues. Queues of other systems are shown with their fleets.
				</Notice>
			)}
			{names.length > 0 && (
				<Table
					name="Table of queues"
					columns={[
						{ label: "Queue", wrap: true },
						...columns.map(([label]) => ({ label, number: true })),
						{ label: "Dead letters" },
						{ label: "Actions" },
					]}
					rows={names.map((name) => ({
						key: name,
						chosen: name === route.name,
						cells: [
							<a href={link("queues", name)}>{name}</a>,
							...columns.map(([, print]) => print(read.value?.counts?.[name] ?? {})),
							letters(read.value?.counts?.[name]),
							mayWrite() && <Actions queue={name} counts={read.value?.counts?.[name]} ask={ask} />,
						],
					}))}
				/>
			)}
			{(here?.sources?.length ?? 0) > 0 && <Moves queue={route.name} />}
			{route.name && (
				// An action and an emptied queue are a new turn: what was purged or redriven must not stay in the list.
				<Messages key={route.name} queue={route.name} turn={`${changes} ${here?.visible === 0}`} />
			)}
			{asked && (
				<QueueDialog
					{...asked}
					counts={read.value?.counts?.[asked.queue]}
					done={() => {
						say(dones[asked.verb](asked.queue));
						changed(changes + 1);
					}}
					onClose={() => {
						ask(null);
						read.again();
					}}
				/>
			)}
		</>
	);
}

interface ActionsProps {
	queue: string;
	counts: QueueCounts | undefined;
	ask: (what: { verb: Verb; queue: string }) => void;
}

// Actions are what a person may do with a queue. Only a queue that takes the dead letters of others can be redriven.
function Actions({ queue, counts, ask }: ActionsProps) {
	return (
		<span class="actions">
			{verbs
				.filter((verb) => verb !== "Redrive" || (counts?.sources?.length ?? 0) > 0)
				.map((verb) => (
					<button
						type="button"
						class="quiet"
						key={verb}
						aria-label={`${verb} ${queue}`}
						onClick={() => ask({ verb, queue })}
					>
						{verb}
					</button>
				))}
		</span>
	);
}

// letters says where the dead letters of a queue go, or whose dead letters it takes.
function letters(c: QueueCounts | undefined): ComponentChildren {
	if (c?.sources?.length) return `takes those of ${c.sources.join(", ")}`;
	return c?.dead_letter_queue ? <a href={link("queues", c.dead_letter_queue)}>{c.dead_letter_queue}</a> : "–";
}

// Moves lists the last redrives of a dead-letter queue.
function Moves({ queue }: { queue: string }) {
	const read = useGet<QueueMoves>(`v1/queues/${encodeURIComponent(queue)}/moves`, 2);
	const moves = read.value?.moves ?? [];
	return (
		<section class="block" aria-labelledby="moves-title">
			<h2 id="moves-title">Redrives of {queue}</h2>
			<Loading of={read} what="the redrives" />
			{read.value && moves.length === 0 && <p class="muted">No messages were redriven lately.</p>}
			<ul class="plain">
				{moves.map((m) => (
					<li key={m.id}>
						<Ago at={m.started} />: {m.status}, {count(m.moved)} of {plural(m.to_move, "message")} moved to{" "}
						{m.to || "where they came from"}
						{m.failure && <span class="error-text">: {m.failure}</span>}
					</li>
				))}
			</ul>
		</section>
	);
}

// Messages shows the first messages of a queue, if this session may read them. They are read again when turn changes.
function Messages({ queue, turn }: { queue: string; turn: string }) {
	const allowed = session.value?.peek === true;
	const [from, setFrom] = useState("");
	const path = `v1/queues/${encodeURIComponent(queue)}/messages?limit=50${from ? `&from=${from}` : ""}`;
	const read = useGet<Peek>(allowed ? path : "", 0, turn);
	if (!allowed) {
		return (
			<Notice kind="plain">
				This session may not read messages. On the machine of Muster,{" "}
				<code>muster queue peek {queue}</code>{" "}
				shows them.
			</Notice>
		);
	}
	return (
		<section class="block" aria-labelledby="messages-title">
			<header>
				<h2 id="messages-title">Messages of {queue}</h2>
				<select
					aria-label="State of the messages"
					value={from}
					onChange={(e) => setFrom(e.currentTarget.value)}
				>
					<option value="">all</option>
					<option>waiting</option>
					<option>in-flight</option>
					<option>delayed</option>
				</select>
				<button type="button" class="quiet" onClick={read.again}>
					Read again
				</button>
			</header>
			<Loading of={read} what="the messages" />
			{read.value && read.value.messages.length === 0 && <p class="muted">No message is there.</p>}
			{(read.value?.messages ?? []).map((m) => (
				<Message key={m.id} message={m} />
			))}
		</section>
	);
}

function Message({ message: m }: { message: PeekedMessage }) {
	const attributes = Object.entries(m.attributes ?? {});
	return (
		<details class="message">
			<summary>
				<span class="mono">{m.id}</span> {m.state}, sent {duration(m.age_seconds)} ago,{" "}
				{plural(m.receives, "receive")}, {bytes(m.body_bytes)}
				{m.last_error && <span class="error-text"> {m.last_error.error}</span>}
			</summary>
			{m.damaged && <Notice kind="bad">{m.damaged}</Notice>}
			{m.source && <p>It was dead-lettered from {m.source}.</p>}
			{attributes.length > 0 && (
				<dl class="pairs">
					{attributes.map(([name, a]) => (
						<div key={name}>
							<dt>{name}</dt>
							<dd class="mono">{a.value ?? a.binary ?? ""}</dd>
						</div>
					))}
				</dl>
			)}
			<pre>{m.body}</pre>
			{m.body_cut && <p class="muted">The body is longer than what is shown.</p>}
		</details>
	);
}

const verbs = ["Send", "Purge", "Redrive"] as const;
type Verb = (typeof verbs)[number];

const warnings: Record<Verb, (queue: string, n: string) => string> = {
	Send: (queue) => `One message is sent to ${queue}.`,
	Purge: (queue, n) => `All ${n} messages of ${queue} are deleted. This cannot be undone.`,
	Redrive: (queue) => `The messages of the dead-letter queue ${queue} go back to the queues they came from.`,
};

const dones: Record<Verb, (queue: string) => string> = {
	Send: (queue) => `One message was sent to ${queue}.`,
	Purge: (queue) => `All messages of ${queue} were deleted.`,
	Redrive: (queue) => `The messages of ${queue} are on their way back; the page of the queue shows how far.`,
};

interface QueueDialogProps {
	verb: Verb;
	queue: string;
	counts: QueueCounts | undefined;
	/** done is called after the change. */
	done: () => void;
	onClose: () => void;
}

// QueueDialog asks before it changes a queue. Purging asks for the name of the queue, too.
function QueueDialog({ verb, queue, counts, done, onClose }: QueueDialogProps) {
	const dialog = useRef<HTMLDialogElement>(null);
	const [text, setText] = useState("");
	const [error, setError] = useState("");
	const [busy, setBusy] = useState(false);
	useEffect(() => {
		dialog.current?.showModal();
	}, []);
	const path = `v1/queues/${encodeURIComponent(queue)}`;
	const carryOut = async () => {
		if (verb === "Purge" && text !== queue) return setError(`Type the name ${queue} to confirm.`);
		setBusy(true);
		setError("");
		try {
			if (verb === "Send") await sendOne(`${path}/messages`, text);
			else if (verb === "Purge") await send("POST", `${path}/purge`);
			else await send("POST", `${path}/redrive`, {});
			done();
			dialog.current?.close();
		} catch (err) {
			setError(err instanceof Error ? err.message : String(err));
			setBusy(false);
		}
	};
	const all = (["visible", "in_flight", "delayed"] as const).reduce<Known>((sum, key) => {
		const n = counts?.[key] ?? null;
		return sum === null || n === null ? null : sum + n;
	}, 0);
	return (
		<dialog ref={dialog} onClose={onClose} aria-labelledby="queue-title">
			<form
				onSubmit={(e) => {
					e.preventDefault();
					void carryOut();
				}}
			>
				<h2 id="queue-title">
					{verb} {queue}
				</h2>
				<p>{warnings[verb](queue, count(all))}</p>
				{verb === "Send" && (
					<label class="field wide">
						<span>Body</span>
						<textarea rows={6} value={text} onInput={(e) => setText(e.currentTarget.value)} />
					</label>
				)}
				{verb === "Purge" && (
					<label class="field wide">
						<span>Name of the queue</span>
						<input
							type="text"
							value={text}
							autoComplete="off"
							onInput={(e) => setText(e.currentTarget.value)}
						/>
					</label>
				)}
				{error && <Notice kind="bad">{error}</Notice>}
				<footer>
					<button type="button" onClick={() => dialog.current?.close()}>
						Cancel
					</button>
					<button type="submit" class={verb === "Purge" ? "primary danger" : "primary"} disabled={busy}>
						{verb}
					</button>
				</footer>
			</form>
		</dialog>
	);
}

// sendOne sends one message as a line of JSON. The answer is a success also when the line was refused, and says so.
async function sendOne(path: string, body: string): Promise<void> {
	const answer = await request(path, { method: "POST", body: `${JSON.stringify({ body })}\n` });
	const said = (await answer.json()) as { sent?: number; error?: string };
	if (said.error) throw new Error(said.error);
}
