// A server that answers like Muster's API, with made-up fleets: to develop the pages, and to test what a real run shows
// only after hours, such as a thousand fleets, a blind one or one at its maximum.
//
//     node ui/test/mock.mjs BUNDLE [FLEETS]
//
// It prints its address. The data is the same at each start, but for the times.
import { createServer } from "node:http";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";

/** canary must never be run nor become an element. It stands in every text that a stranger may choose. */
export const canary = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// random returns the same numbers for the same seed.
function random(seed) {
	let s = seed >>> 0;
	return () => {
		s = (s + 0x6d2b79f5) >>> 0;
		let t = Math.imul(s ^ (s >>> 15), s | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}

const decided = (name, previous, desired, why, at, extra = {}) => ({
	id: `${name}/1.${Math.floor(at / 1000) % 100000}`, at: new Date(at).toISOString(), fleet: name, policy: "exact/2",
	previous, wish: desired, desired, verdict: previous === desired ? "hold" : "apply", reason: previous === desired ? "steady" : "",
	sentence: previous === desired ? `holding at ${desired}: ${why}` : `${desired > previous ? "up" : "down"} from ${previous} to ${desired}: ${why}`,
	...extra,
});

function row(name, now, change = {}) {
	const r = {
		name, state: "meeting", why: "99.8 % of the last hour's messages were in time", phase: "running", trouble: "",
		objective_s: 60, quantile: 0.99, oldest_age_s: 7, in_time: 0.998, ended_last_hour: 5120, late: 0, expected_s: 9.5,
		expected_in_time: 0.999, backlog: 12, in_flight: 8, delayed: 0, working: 8, retrying: 0, dead_letters: 0,
		arriving_per_s: 1.4, finished_lately: 420, failed_lately: 0, min: 1, max: 20, desired: 5, in_service: 5, busy: 4,
		idle: 1, pending: 0, draining: 0, lost: 0, at_max: false, processing_p50_s: 2.1, processing_p95_s: 4.8, per_worker: 2.4,
		acceptable_per_worker: 28, utilization: 0.8, utilization_target: null, cost_per_hour: 0.21,
		decision: decided(name, 5, 5, "40 messages wait at most 9s with 5 workers, and fewer would be late", now - 40_000),
		...change,
	};
	return r;
}

const blindRow = (name, now) => row(name, now, {
	state: "blind", oldest_age_s: null, in_time: null, late: null, backlog: null, in_flight: null, delayed: null,
	working: null, retrying: null, dead_letters: null, expected_s: null, expected_in_time: null, arriving_per_s: null,
	per_worker: null, utilization: null,
	why: "a signal is unknown, so no decrease is decided: the backlog of thumbs: AccessDenied: sqs:GetQueueAttributes",
	decision: decided(name, 5, 5, "the backlog is unknown; the size stays", now - 90_000, { reason: "unknown_backlog" }),
});

const special = {
	healthy: (n, now) => row(n, now),
	failing: (n, now) => row(n, now, {
		state: "failing", why: "76 attempts failed in the last five minutes, and 3 messages finished; last error: exit status 1 (convert: not found)",
		in_time: 0.31, retrying: 48, dead_letters: 12, late: 22, oldest_age_s: 95, failed_lately: 76, finished_lately: 3, backlog: 31,
	}),
	blind: blindRow,
	"at-max": (n, now) => row(n, now, {
		state: "missing", at_max: true, oldest_age_s: 214, backlog: 5230, late: 3100, in_time: 0.62, desired: 20, in_service: 20,
		busy: 20, idle: 0, expected_s: 260, expected_in_time: 0.1, per_worker: 261, utilization: 3.4, cost_per_hour: 0.84,
		why: "the oldest message has waited for 3m34s, the objective is 1m0s; the policy recommends 63 workers, and the maximum is 20",
		decision: decided(n, 18, 20, "63 workers would be needed for 5230 messages; the maximum is 20", now - 300_000, { wish: 63 }),
	}),
	paused: (n, now) => row(n, now, { state: "paused", why: "paused until 15:00 (rollout)" }),
	starting: (n, now) => row(n, now, {
		state: "not_sized", phase: "failed", trouble: "the fleet is not sized: the group jobs does not exist", desired: null,
		in_service: null, busy: null, idle: null, pending: null, draining: null, lost: null, backlog: null, oldest_age_s: null,
		in_time: null, objective_s: null, quantile: null, min: null, max: null, working: null, retrying: null, cost_per_hour: null,
		expected_s: null, expected_in_time: null, arriving_per_s: null, why: "the fleet is not sized: the group jobs does not exist",
		decision: { id: "", at: "0001-01-01T00:00:00Z", fleet: n, policy: "", previous: 0, wish: 0, desired: 0, verdict: "", reason: "", sentence: "" },
	}),
	[`evil ${canary}`]: (n, now) => row(n, now, {
		state: "failing", why: `last error: ${canary}`, decision: decided(n, 2, 3, canary, now - 5000),
	}),
};

/** fleets makes n rows; the first ones are in every state. */
export function fleets(n, now) {
	const chance = random(7);
	const all = Object.entries(special).map(([name, make]) => make(name, now));
	while (all.length < n) {
		const age = Math.round(chance() * 40);
		all.push(row(`fleet-${String(all.length).padStart(4, "0")}`, now, {
			oldest_age_s: age, backlog: Math.round(chance() * 80), in_service: 1 + Math.round(chance() * 12),
			cost_per_hour: Math.round(chance() * 100) / 100,
		}));
	}
	return all.slice(0, Math.max(n, Object.keys(special).length)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

function series(name, r, from, to, points) {
	const step = Math.max(1, (to - from) / points);
	const at = [];
	const columns = {};
	const names = ["desired", "in_service", "busy", "pending", "min", "max", "backlog", "in_flight", "oldest_age_s",
		"objective_s", "processing_p50_s", "processing_p95_s", "per_worker", "acceptable_per_worker", "utilization",
		"utilization_target"];
	for (const n of names) columns[n] = [];
	const decisions = [];
	let before = 5;
	for (let t = from; t <= to; t += step) {
		at.push(Math.floor(t));
		const wave = 1 + Math.sin(t / 600) + 0.6 * Math.sin(t / 173) + 0.15 * Math.sin(t / 13);
		const worst = name === "at-max" ? 5 : name === "failing" ? 2.2 : 1;
		const blind = name === "blind" && t > to - (to - from) * 0.2;
		const max = r.max ?? 20;
		const desired = Math.min(max, Math.max(1, Math.round(4 + 2.5 * wave * worst)));
		const backlog = Math.max(0, Math.round(20 * wave * worst ** 2));
		const put = (n, v) => columns[n].push(v);
		put("desired", desired);
		put("in_service", Math.min(desired, before));
		put("busy", Math.max(0, Math.min(desired, Math.round(desired * 0.8))));
		put("pending", Math.max(0, desired - before));
		put("min", r.min ?? 1);
		put("max", max);
		put("backlog", blind ? null : backlog);
		put("in_flight", blind ? null : Math.round(desired * 1.4));
		put("oldest_age_s", blind ? null : Math.max(0, Math.round(14 * wave * worst * worst)));
		put("objective_s", 60);
		put("processing_p50_s", 2 + 0.2 * wave);
		put("processing_p95_s", 4.5 + 0.5 * wave);
		put("per_worker", blind ? null : backlog / desired);
		put("acceptable_per_worker", 28);
		put("utilization", blind ? null : Math.min(3, 0.3 + 0.25 * wave * worst));
		put("utilization_target", 0.75);
		if (desired !== before) {
			decisions.push({ ...decided(name, before, desired, `${backlog} messages wait, the oldest must start within 40s`, t * 1000), id: `${name}/1.${at.length}` });
			before = desired;
		}
	}
	return { fleet: name, from: new Date(from * 1000).toISOString(), to: new Date(to * 1000).toISOString(), step_s: step, at, columns, decisions: decisions.slice(-200), cut: false };
}

const sample = (v) => (v === null ? { value: 0, known: false, reason: "AccessDenied" } : { value: v, known: true });

function observation(r, at) {
	return {
		fleet: r.name, at, objective: { latency_ns: 60e9, quantile: 0.99 }, limits: { min: 1, max: 20, launches_per_hour: 100 },
		queues: [{ queue: `thumbs ${canary}`, backlog: sample(r.backlog), in_flight: sample(r.in_flight), delayed: sample(0), oldest_age_s: sample(r.oldest_age_s) }],
		capacity: { known: true, idle: r.idle, busy: r.busy, booting: r.pending, slots: 5 },
		processing: { known: true, count: 400, mean_s: 2.3 }, boot: { known: true, count: 9, mean_s: 41 },
		arrivals: { known: true, minute_per_s: 1.4 }, progress: { last_error: canary },
	};
}

const trail = [
	{ rule: "exact", in: [{ name: "backlog", value: 40 }, { name: "mpd_s", value: 2.31 }, { name: "slack_s", value: 44.2 }], out: 5, why: "40 messages wait at most 9s with 5 workers, and fewer would be late" },
	{ rule: "stabilisation", in: [{ name: "window_s", value: 60 }], out: 5, why: "the recommendation of the last minute was at most 5" },
	{ rule: "limits", in: [{ name: "min", value: 1 }, { name: "max", value: 20 }], out: 5, why: "" },
];

function detail(r, now) {
	const at = new Date(now).toISOString();
	const hurt = r.state === "failing";
	const failure = { at, fleet: r.name, member: "m1", queue: "thumbs", message: "5f1c9a70-3b1e-4a70-9a41-1f0c2a7d9be1", attempt: 2, error: `exit status 1 ${hurt ? canary : ""}`, output: "convert: not found", took_seconds: 0.25, again_seconds: 30 };
	return {
		at, row: r,
		status: {
			name: r.name, phase: r.phase, ready: true, observation: observation(r, at), sentence: r.decision.sentence,
			decision: { ...r.decision, floor: 1, trail }, trouble: r.trouble || undefined,
			members: Array.from({ length: r.in_service ?? 0 }, (_, i) => ({
				id: i === 1 ? `worker ${canary}` : `${r.name.slice(0, 12)}.1.${i}`, state: i < (r.busy ?? 0) ? "busy" : "idle",
				launched_at: new Date(now - 900_000 - i * 60_000).toISOString(), slots: 1, busy: i < (r.busy ?? 0) ? 1 : 0, held_mean_s: 1.5 + i,
				incidents: i === 0 && hurt ? [{ worker: "w", kind: "lease_lost", count: 2, text: canary, at }] : [],
			})),
		},
		explanation: {
			why: "40 messages wait at most 9s with 5 workers", why_not_more: "More workers would bring no message in time that is not.",
			changes: [{ backlog: 180, desired: 6, sentence: "From 180 waiting messages on it would be 6 workers." }, { backlog: 20, desired: 4, sentence: "Below 20 waiting messages it would be 4 workers." }],
		},
		failures: hurt ? [{ at, kind: "failed", member: "m1", message: failure.message, text: failure.error, failure }] : [],
		dead_letters: hurt ? [{ queue: "thumbs-dead", source: "thumbs", messages: 12, reasons: [{ message: failure.message, sent: at, receives: 3, failure }] }] : [],
		trees: r.name === "healthy" ? [{ root: "crawl-1", queue: "thumbs", state: "running", reason: "", submitted_at: at, created: 812, done: 640, failed: 2, waiting: 90, out: 80, expected: 1100, per_s: 4, left_s: 115, depths: [{ depth: 0, created: 1, done: 1, failed: 0, open: 0 }, { depth: 1, created: 31, done: 31, failed: 0, open: 0 }, { depth: 2, created: 780, done: 608, failed: 2, open: 170 }] }] : [],
	};
}

function incidents(now) {
	const at = (s) => new Date(now - s * 1000).toISOString();
	return {
		open: [
			{ id: "a", kind: "objective_missed", fleet: "at-max", sentence: "The oldest message has waited for 3m34s, the objective is 1m0s.", command: "muster explain at-max", evidence: [{ name: "oldest_age_s", value: 214 }, { name: "backlog", value: 5230 }], began_at: at(400), opened_at: at(340) },
			{ id: "b", kind: "work_failing", fleet: "failing", sentence: `76 attempts failed in the last 5 minutes; last error: ${canary}`, command: "muster logs failing", began_at: at(300), opened_at: at(200) },
		],
		recent: [{ id: "c", kind: "blind", fleet: "blind", sentence: "The backlog was unknown.", began_at: at(4000), opened_at: at(3900), ended_at: at(3500) }],
		channels: [{ channel: "ops", sent: 2, failed: 1, lost: 0, dropped: 0, waiting: 0, last_error: `connection refused ${canary}` }],
	};
}

/** serve starts the server with n fleets, below a path prefix that ends with /, and returns it with its address. */
export function serve(bundle, n = 12, prefix = "/") {
	const began = Date.now();
	const rows = new Map(fleets(n, began).map((r) => [r.name, r]));
	const log = []; // events with their ids
	const streams = new Set();
	const calls = []; // the writes
	const streamed = []; // the Last-Event-ID of each stream, or undefined
	const hold = { streams: false }; // true refuses streams
	const overrides = [];
	let loggedIn = false;
	let sequence = 0;
	const board = () => ({
		at: new Date().toISOString(), cursor: `m-${sequence}`, version: "mock", fleets: [...rows.values()], faults: [], open_incidents: 2,
		totals: { desired: null, in_service: null, backlog: null, cost_per_hour: null, in_time: null },
	});
	const chance = random(3);
	const push = (event, data) => {
		const e = { id: `m-${++sequence}`, event, data };
		log.push(e);
		if (log.length > 500) log.shift();
		for (const s of streams) s.write(`id: ${e.id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
	};
	const tick = setInterval(() => {
		const names = [...rows.keys()].filter((k) => k.startsWith("fleet-") || k === "healthy");
		const changed = [];
		for (let i = 0; i < Math.min(names.length, 40); i++) {
			const r = rows.get(names[Math.floor(chance() * names.length)]);
			r.backlog = Math.max(0, r.backlog + Math.round(chance() * 10 - 5));
			r.oldest_age_s = Math.max(0, Math.min(58, r.oldest_age_s + Math.round(chance() * 6 - 3)));
			changed.push({ name: r.name, backlog: r.backlog, oldest_age_s: r.oldest_age_s });
		}
		push("change", { at: new Date().toISOString(), fleets: changed, gone: [] });
	}, 500);

	const answer = (res, body, code = 200) => {
		res.writeHead(code, { "Content-Type": "application/json", "Cache-Control": "no-store" });
		res.end(JSON.stringify(body));
	};
	const server = createServer((req, res) => {
		const url = new URL(req.url, "http://x");
		if (!url.pathname.startsWith(prefix)) return res.writeHead(404).end();
		const path = url.pathname.slice(prefix.length);
		res.setHeader("Content-Security-Policy", policy);
		res.setHeader("Referrer-Policy", "no-referrer");
		if (!path.startsWith("v1/")) return file(res, bundle, path || "index.html");
		let text = "";
		req.on("data", (d) => (text += d));
		req.on("end", () => api(req, res, url, path.slice(3), text));
	});
	const api = (req, res, url, path, text) => {
		const now = Date.now();
		if (path === "session") {
			if (req.method === "POST") loggedIn = JSON.parse(text).code !== "wrong";
			if (req.method === "DELETE") loggedIn = false;
			if (!loggedIn) return answer(res, { error: "this link was used already or is too old" }, 401);
			return answer(res, { role: "operator", csrf: req.method === "POST" ? "c" : undefined, expires_at: new Date(now + 1e8).toISOString(), writes: true, peek: true });
		}
		if (!loggedIn) return answer(res, { error: "there is no session" }, 401);
		if (req.method !== "GET") {
			calls.push({ method: req.method, path: `${path}${url.search}`, body: text, csrf: req.headers["x-muster-csrf"] });
			if (req.headers["x-muster-csrf"] !== "c") return answer(res, { error: "the write token is missing" }, 403);
			if (url.searchParams.has("plan")) {
				return answer(res, { plan: { from: 6, to: 0, launch: 0, stop: 6, stop_idle: 6, stop_busy: 0, sentence: "down from 6 to 0: max 0 until 15:00 UTC" } });
			}
			if (path.endsWith("/overrides")) {
				const asked = JSON.parse(text);
				overrides.push({ ...asked, id: `${asked.kind}-1`, begin: new Date(now).toISOString(), end: new Date(now + asked.for_s * 1000).toISOString(), active: true, text: `${asked.kind} (${asked.reason})` });
			}
			if (req.method === "DELETE") overrides.length = 0;
			if (path === "whatif") return answer(res, whatif(JSON.parse(text)));
			if (path.endsWith("messages")) return answer(res, { sent: 1, duplicates: 0 });
			return answer(res, {});
		}
		if (path === "board") return answer(res, url.searchParams.has("since") ? { at: new Date().toISOString(), cursor: `m-${sequence}`, board: board(), events: [] } : board());
		if (path === "stream") return stream(req, res, url);
		if (path === "curves") {
			const named = (url.searchParams.get("fleets") ?? "").split(",");
			const curve = (name) => series(name, rows.get(name) ?? {}, now / 1000 - 3600, now / 1000, 60).columns.oldest_age_s;
			return answer(res, { from: new Date(now - 36e5).toISOString(), step_s: 60, fleets: Object.fromEntries(named.filter((x) => rows.has(x)).map((x) => [x, { oldest_age_s: curve(x) }])) });
		}
		if (path === "incidents") return answer(res, incidents(began));
		if (path === "queues") return answer(res, { queues: ["thumbs", "thumbs-dead", `q ${canary}`], counts: {
			thumbs: { retrying: 2, visible: 31, in_flight: 8, delayed: 0, oldest_sent: new Date(now - 7000).toISOString(), dead_letter_queue: "thumbs-dead" },
			"thumbs-dead": { visible: 12, in_flight: 0, delayed: 0, retrying: 0, oldest_sent: new Date(began - 4e6).toISOString(), sources: ["thumbs"] },
		} });
		if (path === "configuration") {
			return answer(res, {
				file: "/etc/muster/muster.yaml", faults: [`fleets[0].max: ${canary}`], last_reload: { at: new Date(began).toISOString(), ok: false, said: "1 problem found" },
				values: [{ path: "fleets[0].max", value: "20", source: "file", line: 14 }, { path: "fleets[0].objective.latency", value: "1m0s", source: "file", line: 11 }, { path: "poll", value: "1s", source: "default", line: 0 }],
			});
		}
		const parts = path.split("/").map(decodeURIComponent);
		if (parts[0] === "queues" && parts[2] === "messages") {
			return answer(res, { queue: parts[1], at: new Date(now).toISOString(), cut: false, messages: [{ id: "5f1c9a70", state: "waiting", sent: new Date(now - 7000).toISOString(), age_seconds: 7, visible_at: new Date(now).toISOString(), receives: 0, body: canary, body_bytes: 70, body_cut: false, attributes: { [canary]: { type: "String", value: canary } } }] });
		}
		if (parts[0] === "decisions") {
			const r = rows.get(parts[1]);
			if (!r) return answer(res, { error: `there is no fleet ${parts[1]}` }, 404);
			return answer(res, { id: `${parts[1]}/${parts[2]}`, record: { position: {}, observation: observation(r, r.decision.at), decision: { ...r.decision, floor: 1, trail }, sentence: r.decision.sentence }, explanation: detail(r, now).explanation });
		}
		const r = rows.get(parts[1]);
		if (parts[0] !== "fleets" || !r) return answer(res, { error: `there is no ${path}` }, 404);
		switch (parts[2]) {
			case undefined:
				return answer(res, detail(r, now));
			case "series":
				return answer(res, series(r.name, r, Date.parse(url.searchParams.get("from")) / 1000, Date.parse(url.searchParams.get("to")) / 1000, Number(url.searchParams.get("points"))));
			case "decisions": {
				const all = series(r.name, r, now / 1000 - 3600, now / 1000, 600).decisions.reverse();
				return answer(res, { decisions: all.slice(0, Number(url.searchParams.get("limit"))), next: "" });
			}
			case "logs":
				return answer(res, { cut: false, records: [{ at: new Date(now).toISOString(), kind: "output", member: "m", message: "5f1c9a70-3b", stream: "stdout", text: `resized ${canary}` }] });
			case "overrides":
				return answer(res, { fleet: r.name, at: new Date(now).toISOString(), overrides });
			default:
				return answer(res, { error: `there is no ${path}` }, 404);
		}
	};
	const whatif = (asked) => {
		const from = Date.parse(asked.from) / 1000;
		const to = Date.parse(asked.to) / 1000;
		const run = (name, kind, as, share, hours) => {
			const c = series(as, {}, from, to, 200);
			return {
				name, kind, in_time: share, p50_s: 4, p95_s: 9, p99_s: 14, worker_hours: hours, cost: hours * 0.042, scale_events: 31,
				launches: 40, peak_workers: 14,
				curves: { step_s: c.step_s, desired: c.columns.desired, in_service: c.columns.in_service, backlog: c.columns.backlog, oldest_age_s: c.columns.oldest_age_s },
			};
		};
		return {
			fleet: asked.fleet, from: asked.from, to: asked.to, messages: 41200, objective_s: 60, quantile: 0.99,
			notes: [`Durations are those of the records. ${canary}`], yaml: `fleets:\n  - name: healthy\n    max: 40 # ${canary}\n`,
			runs: [
				run("deadline", "present", "failing", 0.93, 41.2), run("exact", "changed", "healthy", 0.995, 38.7),
				...asked.others.map((name) => run(name, "other", "healthy", 0.88, 55.1)),
			],
			bound: { worker_hours: 31.9, cost: 1.34, unreachable: false },
		};
	};
	const stream = (req, res, url) => {
		if (hold.streams) return answer(res, { error: "too many streams" }, 503);
		streamed.push(req.headers["last-event-id"]);
		res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
		const last = req.headers["last-event-id"];
		const from = log.findIndex((e) => e.id === last);
		if (from < 0) {
			const b = board();
			res.write(`id: ${b.cursor}\nevent: board\ndata: ${JSON.stringify(b)}\n\n`);
		} else {
			for (const e of log.slice(from + 1)) res.write(`id: ${e.id}\nevent: ${e.event}\ndata: ${JSON.stringify(e.data)}\n\n`);
		}
		const r = rows.get(url.searchParams.get("fleet"));
		if (r) res.write(`event: fleet\ndata: ${JSON.stringify(detail(r, Date.now()))}\n\n`);
		streams.add(res);
		res.on("close", () => streams.delete(res));
	};
	return new Promise((done) => {
		server.listen(0, "127.0.0.1", () =>
			done({
				address: `http://127.0.0.1:${server.address().port}${prefix}`, calls, streamed, hold, push, rows,
				drop: () => { for (const s of streams) s.destroy(); },
				close: () => { clearInterval(tick); server.closeAllConnections(); server.close(); },
			}));
	});
}

function file(res, bundle, name) {
	const plain = join(bundle, name);
	if (!/^[\w.-]+$/.test(name) || !(existsSync(plain) || existsSync(`${plain}.gz`))) {
		res.writeHead(404);
		return res.end();
	}
	const types = { html: "text/html; charset=utf-8", js: "text/javascript", css: "text/css", svg: "image/svg+xml" };
	res.writeHead(200, { "Content-Type": types[name.split(".").pop()] });
	return res.end(existsSync(plain) ? readFileSync(plain) : gunzipSync(readFileSync(`${plain}.gz`)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	const { address } = await serve(process.argv[2], Number(process.argv[3] ?? 12));
	console.log(`${address}#login=mock`);
}
