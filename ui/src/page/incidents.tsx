// The incidents: what is wrong now, what was wrong lately, and whether the notices about it were delivered.

import type { Incident, Incidents as Answer } from "../contract.ts";
import { duration, named, words } from "../format.ts";
import { state } from "../live.ts";
import { Ago, Figure, Loading, Notice, Time, useGet } from "../part/basic.tsx";
import { link } from "../route.ts";
import { useStore } from "../store.ts";

/** Incidents is the page of all incidents. */
export function Incidents() {
	const turn = useStore(state, (s) => s.incidentsAt);
	const read = useGet<Answer>("v1/incidents", 30, turn);
	const channels = read.value?.channels ?? [];
	return (
		<>
			<header class="page">
				<h1>{title(read.value)}</h1>
			</header>
			<Loading of={read} what="the incidents" />
			{channels
				.filter((c) => c.last_error)
				.map((c) => (
					<Notice kind="warn" key={c.channel}>
						The channel {c.channel} could not deliver: {c.last_error}
					</Notice>
				))}
			{read.value && read.value.open.length + read.value.recent.length === 0 && (
				<p class="muted">Nothing is wrong now, and nothing was lately.</p>
			)}
			{(read.value?.open ?? []).length > 0 && <h2>Open</h2>}
			{(read.value?.open ?? []).map((i) => (
				<Entry key={i.id} incident={i} />
			))}
			{(read.value?.recent ?? []).length > 0 && <h2>Ended</h2>}
			{(read.value?.recent ?? []).map((i) => (
				<Entry key={i.id} incident={i} />
			))}
		</>
	);
}

function title(all: Answer | null): string {
	if (!all) return "Incidents";
	if (all.open.length === 0) return "No open incidents";
	return all.open.length === 1 ? "1 open incident" : `${all.open.length} open incidents`;
}

function Entry({ incident: i }: { incident: Incident }) {
	const lasted = i.ended_at ? (Date.parse(i.ended_at) - Date.parse(i.began_at)) / 1000 : null;
	return (
		<article class={`block incident ${i.ended_at ? "ended" : "open"}`}>
			<h3>
				{words(i.kind)} {i.fleet && <a href={link("fleet", i.fleet)}>{i.fleet}</a>}{" "}
				{i.subject && <span class="muted">{i.subject}</span>}
			</h3>
			<p class="sentence">{i.sentence}</p>
			<p class="muted">
				began <Time at={i.began_at} />, opened <Ago at={i.opened_at} />
				{i.ended_at && (
					<>
						, ended <Time at={i.ended_at} /> after {duration(lasted)}
					</>
				)}
			</p>
			{(i.evidence ?? []).length > 0 && (
				<dl class="figures">
					{(i.evidence ?? []).map((v) => {
						const [name, text] = named(v.name, v.value);
						return (
							<Figure key={v.name} label={name}>
								{text}
							</Figure>
						);
					})}
				</dl>
			)}
			{i.command && (
				<p>
					Look closer: <code>{i.command}</code>
				</p>
			)}
		</article>
	);
}
