// The page: navigation, the state of the connection, and the page that the address names.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { login, logout, mayWrite, resume, session } from "./api.ts";
import { news } from "./board.ts";
import { connection, lost, pauseRefresh, start, state, stop } from "./live.ts";
import { Configuration } from "./page/configuration.tsx";
import { DecisionPermalink, Decisions } from "./page/decisions.tsx";
import { Fleet } from "./page/fleet.tsx";
import { Fleets } from "./page/fleets.tsx";
import { Incidents } from "./page/incidents.tsx";
import { Queues } from "./page/queues.tsx";
import { WhatIf } from "./page/whatif.tsx";
import { Notice } from "./part/basic.tsx";
import { link, pages, parse, type Route } from "./route.ts";
import { Store, useStore } from "./store.ts";
import { choose, type Theme, theme, watchTheme } from "./theme.ts";

const route = new Store<Route>(parse(location.hash));
const failure = new Store<string>("");

const names: Record<(typeof pages)[number], string> = {
	fleets: "Fleets",
	decisions: "Decisions",
	queues: "Queues",
	incidents: "Incidents",
	whatif: "What if",
	configuration: "Configuration",
};

const connections = {
	connecting: "connecting",
	live: "live",
	polling: "polling",
	lost: "no connection",
	paused: "paused",
};

function App() {
	const who = useStore(session);
	const failed = useStore(failure);
	return (
		<>
			<Bar loggedIn={who !== null && who !== undefined} />
			<main id="main" tabIndex={-1}>
				{failed && <Notice kind="bad">{failed}</Notice>}
				{who === null && <LoggedOut />}
				{who && <Page />}
			</main>
			<Announcer />
		</>
	);
}

function Page() {
	const r = useStore(route);
	const board = useStore(state, (s) => s.board);
	const why = useStore(lost);
	const how = useStore(connection);
	useEffect(() => {
		const what = r.name || names[r.page as keyof typeof names];
		document.title = what ? `${what} – Muster` : "Muster";
	}, [r]);
	if (!board && how === "lost") return <Notice kind="bad">{why}</Notice>;
	return (
		<>
			{how === "lost" && <Notice kind="warn">{why} The numbers below are old.</Notice>}
			<Content route={r} />
		</>
	);
}

function Content({ route: r }: { route: Route }) {
	switch (r.page) {
		case "fleet":
			return <Fleet key={r.name} route={r} />;
		case "decisions":
			return <Decisions route={r} />;
		case "decision":
			return <DecisionPermalink key={r.name} route={r} />;
		case "queues":
			return <Queues route={r} />;
		case "incidents":
			return <Incidents />;
		case "whatif":
			return <WhatIf route={r} />;
		case "configuration":
			return <Configuration />;
		default:
			return <Fleets />;
	}
}

function Bar({ loggedIn }: { loggedIn: boolean }) {
	const r = useStore(route);
	const how = useStore(connection);
	const open = useStore(state, (s) => s.board?.open_incidents ?? 0);
	const chosen = useStore(theme);
	const here = (page: string) =>
		r.page === page || (page === "fleets" && r.page === "fleet") || (page === "decisions" && r.page === "decision");
	return (
		<header class="bar">
			<a class="skip" href="#main" onClick={skip}>
				Skip to the content
			</a>
			<a class="brand" href={link("fleets")}>
				<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
					<path d="M2 17V8l4-4v13zM8 17V3l4 4v10zM14 17V11l4-3v9z" />
				</svg>
				Muster
			</a>
			{loggedIn && (
				<nav aria-label="Pages">
					{pages.map((p) => (
						<a key={p} href={link(p)} aria-current={here(p) ? "page" : undefined}>
							{names[p]}
							{p === "incidents" && open > 0 && <span class="badge">{open}</span>}
						</a>
					))}
				</nav>
			)}
			<div class="tools">
				{loggedIn && (
					<button
						type="button"
						class={`quiet connection ${how}`}
						aria-pressed={how === "paused"}
						title={how === "paused" ? "Continue the updates" : "Pause the updates"}
						onClick={() => pauseRefresh(how !== "paused")}
					>
						<span aria-hidden="true" class="dot" />
						{connections[how]}
					</button>
				)}
				<select aria-label="Theme" value={chosen} onChange={(e) => choose(e.currentTarget.value as Theme)}>
					<option value="system">System</option>
					<option value="light">Light</option>
					<option value="dark">Dark</option>
				</select>
				{loggedIn && (
					<button type="button" class="quiet" onClick={() => void leave()}>
						Log out
					</button>
				)}
			</div>
		</header>
	);
}

function skip(e: MouseEvent): void {
	e.preventDefault(); // the part behind # is the address of a page
	document.getElementById("main")?.focus();
}

// leave logs out. The updates go on until that is done: a logout that fails leaves a page that works.
async function leave(): Promise<void> {
	failure.value = "";
	try {
		await logout();
	} catch (err) {
		// null: the session had ended before
		if (session.value) failure.value = `You are still logged in. ${err instanceof Error ? err.message : String(err)}`;
	}
}

function LoggedOut() {
	return (
		<section class="block login">
			<h1>Open the dashboard with a link</h1>
			<p>
				<code>muster up</code> prints a link that logs this browser in once. For a new one, run:
			</p>
			<pre>muster dashboard</pre>
		</section>
	);
}

// Announcer tells screen readers which fleets changed their state, at most every five seconds.
function Announcer() {
	const rows = useStore(state, (s) => s.rows);
	const how = useStore(connection);
	const before = useRef(rows);
	const at = useRef(Number.NEGATIVE_INFINITY);
	const [text, setText] = useState("");
	useEffect(() => {
		if (performance.now() - at.current < 5000) return;
		const said = news(before.current, rows);
		before.current = rows;
		if (!said) return;
		at.current = performance.now();
		setText(said);
	}, [rows]);
	return (
		<div class="hidden" role="status" aria-live="polite">
			{how === "lost" ? "The connection is lost." : text}
		</div>
	);
}

// begin logs in with the code of a one-time link, if there is one. The code leaves the address at once, so that it is
// in no bookmark and no history.
async function begin(): Promise<void> {
	const code = /^#login=([\w.~-]+)$/.exec(location.hash)?.[1];
	failure.value = "";
	try {
		if (code) {
			history.replaceState(null, "", location.pathname + location.search);
			route.value = parse("");
			await login(code);
		} else {
			await resume();
		}
	} catch (err) {
		// a link that is opened twice must not hide the session that it opened
		if (code) await resume().catch(() => undefined);
		if (mayWrite()) return;
		failure.value = err instanceof Error ? err.message : String(err);
		if (session.value === undefined) session.value = null;
	}
}

watchTheme();
window.addEventListener("hashchange", () => {
	if (location.hash.startsWith("#login=")) return void begin();
	route.value = parse(location.hash);
	window.scrollTo(0, 0);
});
session.subscribe(() => (session.value ? start() : stop()));
const root = document.getElementById("app");
if (root) render(<App />, root);
void begin();
