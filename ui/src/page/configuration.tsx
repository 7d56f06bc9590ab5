// The configuration in force: each value with the place that set it, the last reloads, and what waits for a start.

import { useState } from "preact/hooks";
import type { ChangedValue, Configuration as Answer, ConfigurationValue, Reload } from "../contract.ts";
import { plural } from "../format.ts";
import { Ago, Loading, Notice, Time, useGet } from "../part/basic.tsx";
import { Table } from "../part/table.tsx";

/** Configuration is the page of the effective values. */
export function Configuration() {
	const read = useGet<Answer>("v1/configuration", 5);
	const [text, setText] = useState("");
	const [all, setAll] = useState(false);
	const c = read.value;
	const wanted = text.trim().toLowerCase();
	const kept = (c?.values ?? []).filter(
		(v) =>
			(all || v.source !== "default") &&
			(v.path.toLowerCase().includes(wanted) || v.value.toLowerCase().includes(wanted)),
	);
	return (
		<>
			<header class="page">
				<h1>Configuration</h1>
				<p class="lead">
					{c && (c.file ? <code>{c.file}</code> : "Muster runs without a configuration file.")}
				</p>
			</header>
			<Loading of={read} what="the configuration" />
			{c?.last_reload && !c.last_reload.ok && (
				<Notice kind="bad">
					The change of <Time at={c.last_reload.at} /> was refused, and the earlier configuration stays in
					force:
					<pre>{[c.last_reload.said, ...(c.faults ?? [])].filter((l) => l !== "").join("\n")}</pre>
				</Notice>
			)}
			{(c?.waiting ?? []).length > 0 && (
				<section class="block" aria-labelledby="waiting">
					<h2 id="waiting">Waiting for the next start</h2>
					<p class="muted">The file states these values. Muster runs with the earlier ones until it starts again.</p>
					<Changes name="Values that wait" changes={c?.waiting ?? []} before="In force" after="In the file" />
				</section>
			)}
			{c && <Reloads reloads={c.reloads ?? (c.last_reload ? [c.last_reload] : [])} />}
			{c && (
				<div class="filters" role="group" aria-label="Filter">
					<input
						type="search"
						placeholder="Filter by key or value"
						aria-label="Filter by key or value"
						value={text}
						onInput={(e) => setText(e.currentTarget.value)}
					/>
					<label>
						<input type="checkbox" checked={all} onChange={(e) => setAll(e.currentTarget.checked)} />{" "}
						defaults too
					</label>
				</div>
			)}
			{c && <Values values={kept} file={c.file.split("/").pop() ?? ""} />}
		</>
	);
}

// Reloads lists the last reloads, each with what it changed.
function Reloads({ reloads }: { reloads: Reload[] }) {
	if (reloads.length === 0) return <p class="muted">The file was not read again since Muster started.</p>;
	return (
		<section class="block" aria-labelledby="reloads">
			<h2 id="reloads">Reloads</h2>
			{reloads.map((r) => (
				<details key={r.at}>
					<summary>
						<Time at={r.at} /> (<Ago at={r.at} />) {summary(r)}
					</summary>
					{r.said && <pre>{r.said}</pre>}
					{(r.changes ?? []).length > 0 && (
						<Changes
							name={`Values changed at ${r.at}`}
							changes={r.changes ?? []}
							before="Before"
							after="After"
						/>
					)}
				</details>
			))}
		</section>
	);
}

function summary(r: Reload): string {
	if (!r.ok) return "was refused";
	const n = r.changes?.length ?? 0;
	return n === 0 ? "changed no value" : `changed ${plural(n, "value")}`;
}

interface ChangesProps {
	name: string;
	changes: ChangedValue[];
	before: string;
	after: string;
}

function Changes({ name, changes, before, after }: ChangesProps) {
	return (
		<Table
			name={name}
			columns={[
				{ label: "Key", wrap: true },
				{ label: before, wrap: true },
				{ label: after, wrap: true },
				{ label: "Line", number: true },
			]}
			rows={changes.map((x) => ({
				key: x.path,
				cells: [
					<span class="mono">{x.path}</span>,
					<span class="mono">{x.before || "–"}</span>,
					<span class="mono">{x.after || "–"}</span>,
					x.line > 0 ? String(x.line) : "default",
				],
			}))}
		/>
	);
}

function Values({ values, file }: { values: ConfigurationValue[]; file: string }) {
	if (values.length === 0) return <p class="muted">No key fits.</p>;
	return (
		<Table
			name="Values"
			columns={[{ label: "Key", wrap: true }, { label: "Value", wrap: true }, { label: "Set by" }]}
			rows={values.map((v) => ({
				key: v.path,
				cells: [
					<span class="mono">{v.path}</span>,
					<span class="mono">{v.value}</span>,
					<span class="muted">{v.line > 0 ? `${file}:${v.line}` : v.source}</span>,
				],
			}))}
		/>
	);
}
