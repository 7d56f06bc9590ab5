// The configuration in force: each value with the place that set it, and the last reload.

import { useState } from "preact/hooks";
import type { Configuration as Answer, ConfigurationValue } from "../contract.ts";
import { Loading, Notice, Time, useGet } from "../part/basic.tsx";
import { Table } from "../part/table.tsx";

/** Configuration is the page of the effective values. */
export function Configuration() {
	const read = useGet<Answer>("v1/configuration", 15);
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
			{c?.last_reload?.ok && (
				<Notice kind="plain">
					The last reload, at <Time at={c.last_reload.at} />: {c.last_reload.said}
				</Notice>
			)}
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
