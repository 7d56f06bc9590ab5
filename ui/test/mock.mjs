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
import { canary, detail, fleets, incidents, observation, random, series, trail } from "./fleets.mjs";

const policy =
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"font-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'";

/** serve starts the server with n fleets, below a path prefix that ends with /, and returns it with its address. */
export function serve(bundle, n = 12, prefix = "/") {
	const began = Date.now();
	const rows = new Map(fleets(n, began).map((r) => [r.name, r]));
	const log = []; // events with their ids
	const streams = new Set();
	const calls = []; // the writes
	const streamed = []; // the Last-Event-ID of each stream, or undefined
	// streams refuses streams; fail makes the API answer an error for paths that it matches; slow delays answers.
	const hold = { streams: false, fail: null, slow: 0 };
	const overrides = [];
	let loggedIn = false;
	let sequence = 0;
	const board = () => ({
		at: new Date().toISOString(),
		cursor: `m-${sequence}`,
		version: "mock",
		fleets: [...rows.values()],
		faults: [],
		open_incidents: 2,
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
			return answer(res, {
				role: "operator",
				csrf: req.method === "POST" ? "c" : undefined,
				expires_at: new Date(now + 1e8).toISOString(),
				writes: true,
				peek: true,
			});
		}
		if (!loggedIn) return answer(res, { error: "there is no session" }, 401);
		if (hold.fail?.test(path)) return answer(res, { error: `the disk failed under ${path}` }, 500);
		if (req.method !== "GET") {
			calls.push({
				method: req.method,
				path: `${path}${url.search}`,
				body: text,
				csrf: req.headers["x-muster-csrf"],
			});
			if (req.headers["x-muster-csrf"] !== "c") return answer(res, { error: "the write token is missing" }, 403);
			if (url.searchParams.has("plan")) {
				return answer(res, {
					plan: {
						from: 6,
						to: 0,
						launch: 0,
						stop: 6,
						stop_idle: 6,
						stop_busy: 0,
						sentence: "down from 6 to 0: max 0 until 15:00 UTC",
					},
				});
			}
			if (path.endsWith("/overrides")) {
				const asked = JSON.parse(text);
				overrides.push({
					...asked,
					id: `${asked.kind}-1`,
					begin: new Date(now).toISOString(),
					end: new Date(now + asked.for_s * 1000).toISOString(),
					active: true,
					text: `${asked.kind} (${asked.reason})`,
				});
			}
			if (req.method === "DELETE") overrides.length = 0;
			if (path === "whatif") {
				const asked = JSON.parse(text);
				return setTimeout(() => answer(res, whatif(asked)), asked.others_only ? hold.slow : 0);
			}
			if (path.endsWith("messages")) return answer(res, { sent: 1, duplicates: 0 });
			return answer(res, {});
		}
		if (path === "board")
			return answer(
				res,
				url.searchParams.has("since")
					? { at: new Date().toISOString(), cursor: `m-${sequence}`, board: board(), events: [] }
					: board(),
			);
		if (path === "stream") return stream(req, res, url);
		if (path === "board/decisions") {
			// three pages of fifty, newest first
			const before = Number(url.searchParams.get("before") || 150);
			const decisions = Array.from({ length: 50 }, (_, i) => {
				const r = [...rows.values()][(before - i) % 5];
				return { ...r.decision, id: `${r.name}/1.${before - i}`, at: new Date(began - (150 - before + i) * 1000) };
			});
			const page = { decisions, next: before > 50 ? String(before - 50) : "", cut: before <= 50 };
			return setTimeout(() => answer(res, page), hold.slow);
		}
		if (path === "curves") {
			const named = (url.searchParams.get("fleets") ?? "").split(",");
			const curve = (name) =>
				series(name, rows.get(name) ?? {}, now / 1000 - 3600, now / 1000, 60).columns.oldest_age_s;
			return answer(res, {
				from: new Date(now - 36e5).toISOString(),
				step_s: 60,
				fleets: Object.fromEntries(
					named.filter((x) => rows.has(x)).map((x) => [x, { oldest_age_s: curve(x) }]),
				),
			});
		}
		if (path === "incidents") return answer(res, incidents(began));
		if (path === "queues")
			return answer(res, {
				queues: ["thumbs", "thumbs-dead", `q ${canary}`],
				counts: {
					thumbs: {
						retrying: 2,
						visible: 31,
						in_flight: 8,
						delayed: 0,
						oldest_sent: new Date(now - 7000).toISOString(),
						dead_letter_queue: "thumbs-dead",
					},
					"thumbs-dead": {
						visible: 12,
						in_flight: 0,
						delayed: 0,
						retrying: 0,
						oldest_sent: new Date(began - 4e6).toISOString(),
						sources: ["thumbs"],
					},
				},
			});
		if (path === "configuration") {
			return answer(res, {
				file: "/etc/muster/muster.yaml",
				faults: [`fleets[0].max: ${canary}`],
				last_reload: { at: new Date(began).toISOString(), ok: false, said: "1 problem found" },
				waiting: [{ path: "listen.api", before: "127.0.0.1:9325", after: canary, line: 3 }],
				reloads: [
					{ at: new Date(began).toISOString(), ok: false, said: `1 problem found ${canary}`, changes: [] },
					{
						at: new Date(began - 6e4).toISOString(),
						ok: true,
						said: "",
						changes: [{ path: "fleets[healthy].max", before: "10", after: "20", line: 14 }],
					},
				],
				values: [
					{ path: "fleets[0].max", value: "20", source: "file", line: 14 },
					{ path: "fleets[0].objective.latency", value: "1m0s", source: "file", line: 11 },
					{ path: "poll", value: "1s", source: "default", line: 0 },
				],
			});
		}
		const parts = path.split("/").map(decodeURIComponent);
		if (parts[0] === "queues" && parts[2] === "messages") {
			return answer(res, {
				queue: parts[1],
				at: new Date(now).toISOString(),
				cut: false,
				messages: [
					{
						id: "5f1c9a70",
						state: "waiting",
						sent: new Date(now - 7000).toISOString(),
						age_seconds: 7,
						visible_at: new Date(now).toISOString(),
						receives: 0,
						body: canary,
						body_bytes: 70,
						body_cut: false,
						attributes: { [canary]: { type: "String", value: canary } },
					},
				],
			});
		}
		if (parts[0] === "decisions") {
			const r = rows.get(parts[1]);
			if (!r) return answer(res, { error: `there is no fleet ${parts[1]}` }, 404);
			return answer(res, {
				id: `${parts[1]}/${parts[2]}`,
				record: {
					position: {},
					observation: observation(r, r.decision.at),
					decision: { ...r.decision, floor: 1, trail },
					sentence: r.decision.sentence,
				},
				explanation: detail(r, now).explanation,
			});
		}
		const r = rows.get(parts[1]);
		if (parts[0] !== "fleets" || !r) return answer(res, { error: `there is no ${path}` }, 404);
		switch (parts[2]) {
			case undefined:
				return answer(res, detail(r, now));
			case "series":
				return answer(
					res,
					series(
						r.name,
						r,
						Date.parse(url.searchParams.get("from")) / 1000,
						Date.parse(url.searchParams.get("to")) / 1000,
						Number(url.searchParams.get("points")),
					),
				);
			case "decisions": {
				const all = series(r.name, r, now / 1000 - 3600, now / 1000, 600).decisions.reverse();
				return answer(res, { decisions: all.slice(0, Number(url.searchParams.get("limit"))), next: "" });
			}
			case "logs":
				return answer(res, {
					cut: false,
					records: [
						{
							at: new Date(now).toISOString(),
							kind: "output",
							member: "m",
							message: "5f1c9a70-3b",
							stream: "stdout",
							text: `resized ${canary}`,
						},
					],
				});
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
				name,
				kind,
				in_time: share,
				p50_s: 4,
				p95_s: 9,
				p99_s: 14,
				worker_hours: hours,
				cost: hours * 0.042,
				scale_events: 31,
				launches: 40,
				peak_workers: 14,
				curves: {
					step_s: c.step_s,
					desired: c.columns.desired,
					in_service: c.columns.in_service,
					backlog: c.columns.backlog,
					oldest_age_s: c.columns.oldest_age_s,
				},
			};
		};
		return {
			fleet: asked.fleet,
			from: asked.from,
			to: asked.to,
			messages: 41200,
			objective_s: 60,
			quantile: 0.99,
			notes: [`Durations are those of the records. ${canary}`],
			yaml: `fleets:\n  - name: healthy\n    max: 40 # ${canary}\n`,
			runs: [
				{
					...run("as it was", "recorded", "failing", 0.94, 40.9),
					p50_s: null,
					p95_s: null,
					p99_s: null,
					launches: null,
					curves: null,
				},
				run("deadline", "present", "failing", 0.93, 41.2),
				run("exact", "changed", "healthy", 0.995, 38.7),
				...asked.others.map((name) => run(name, "other", "healthy", 0.88, 55.1)),
			].filter((r) => r.kind === "other" || !asked.others_only),
			...(asked.bound && { bound: { worker_hours: 31.9, cost: 1.34, unreachable: false } }),
		};
	};
	const stream = (req, res, url) => {
		if (hold.streams) return answer(res, { error: "too many streams" }, 503);
		const followed = url.searchParams.get("fleet");
		if (followed && !rows.has(followed)) return answer(res, { error: `there is no fleet "${followed}"` }, 404);
		streamed.push(req.headers["last-event-id"]);
		res.writeHead(200, { "Content-Type": "text/event-stream", "Cache-Control": "no-store" });
		const last = req.headers["last-event-id"];
		const from = log.findIndex((e) => e.id === last);
		if (from < 0) {
			const b = board();
			res.write(`id: ${b.cursor}\nevent: board\ndata: ${JSON.stringify(b)}\n\n`);
		} else {
			for (const e of log.slice(from + 1))
				res.write(`id: ${e.id}\nevent: ${e.event}\ndata: ${JSON.stringify(e.data)}\n\n`);
		}
		const r = rows.get(url.searchParams.get("fleet"));
		if (r) res.write(`event: fleet\ndata: ${JSON.stringify(detail(r, Date.now()))}\n\n`);
		streams.add(res);
		res.on("close", () => streams.delete(res));
	};
	return new Promise((done) => {
		server.listen(0, "127.0.0.1", () =>
			done({
				address: `http://127.0.0.1:${server.address().port}${prefix}`,
				calls,
				streamed,
				hold,
				push,
				rows,
				drop: () => {
					for (const s of streams) s.destroy();
				},
				close: () => {
					clearInterval(tick);
					server.closeAllConnections();
					server.close();
				},
			}),
		);
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
