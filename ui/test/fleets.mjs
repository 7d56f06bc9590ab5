// Made-up fleets, as the API would describe them: one in each state, and as many healthy ones as a test wants.

/** canary must never be run nor become an element. It stands in every text that a stranger may choose. */
export const canary = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;

// random returns the same numbers for the same seed.
export function random(seed) {
	let s = seed >>> 0;
	return () => {
		s = (s + 0x6d2b79f5) >>> 0;
		let t = Math.imul(s ^ (s >>> 15), s | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
	};
}

const decided = (name, previous, desired, why, at, extra = {}) => ({
	id: `${name}/1.${Math.floor(at / 1000) % 100000}`,
	at: new Date(at).toISOString(),
	fleet: name,
	policy: "exact/2",
	previous,
	wish: desired,
	desired,
	verdict: previous === desired ? "hold" : "apply",
	reason: previous === desired ? "steady" : "",
	sentence:
		previous === desired
			? `holding at ${desired}: ${why}`
			: `${desired > previous ? "up" : "down"} from ${previous} to ${desired}: ${why}`,
	...extra,
});

function row(name, now, change = {}) {
	const r = {
		name,
		state: "meeting",
		why: "99.8 % of the last hour's messages were in time",
		phase: "running",
		trouble: "",
		objective_s: 60,
		quantile: 0.99,
		oldest_age_s: 7,
		in_time: 0.998,
		ended_last_hour: 5120,
		late: 0,
		expected_s: 9.5,
		expected_in_time: 0.999,
		backlog: 12,
		in_flight: 8,
		delayed: 0,
		working: 8,
		retrying: 0,
		dead_letters: 0,
		arriving_per_s: 1.4,
		finished_lately: 420,
		failed_lately: 0,
		min: 1,
		max: 20,
		desired: 5,
		in_service: 5,
		busy: 4,
		idle: 1,
		pending: 0,
		draining: 0,
		lost: 0,
		at_max: false,
		processing_p50_s: 2.1,
		processing_p95_s: 4.8,
		per_worker: 2.4,
		acceptable_per_worker: 28,
		utilization: 0.8,
		utilization_target: null,
		cost_per_hour: 0.21,
		price_per_hour: 0.042,
		decision: decided(
			name,
			5,
			5,
			"40 messages wait at most 9s with 5 workers, and fewer would be late",
			now - 40_000,
		),
		...change,
	};
	return r;
}

const blindRow = (name, now) =>
	row(name, now, {
		state: "blind",
		oldest_age_s: null,
		in_time: null,
		late: null,
		backlog: null,
		in_flight: null,
		delayed: null,
		working: null,
		retrying: null,
		dead_letters: null,
		expected_s: null,
		expected_in_time: null,
		arriving_per_s: null,
		per_worker: null,
		utilization: null,
		why: "a signal is unknown, so no decrease is decided: the backlog of thumbs: AccessDenied",
		decision: decided(name, 5, 5, "the backlog is unknown; the size stays", now - 90_000, {
			reason: "unknown_backlog",
		}),
	});

const special = {
	healthy: (n, now) => row(n, now),
	failing: (n, now) =>
		row(n, now, {
			state: "failing",
			why: "76 attempts failed in five minutes, and 3 messages finished; last error: convert: not found",
			in_time: 0.31,
			retrying: 48,
			dead_letters: 12,
			late: 22,
			oldest_age_s: 95,
			failed_lately: 76,
			finished_lately: 3,
			backlog: 31,
		}),
	blind: blindRow,
	"at-max": (n, now) =>
		row(n, now, {
			state: "missing",
			at_max: true,
			oldest_age_s: 214,
			backlog: 5230,
			late: 3100,
			in_time: 0.62,
			desired: 20,
			in_service: 20,
			busy: 20,
			idle: 0,
			expected_s: 260,
			expected_in_time: 0.1,
			per_worker: 261,
			utilization: 3.4,
			cost_per_hour: 0.84,
			why: "the oldest message has waited for 3m34s, the objective is 1m0s; 63 workers are recommended",
			decision: decided(
				n,
				18,
				20,
				"63 workers would be needed for 5230 messages; the maximum is 20",
				now - 300_000,
				{ wish: 63 },
			),
		}),
	paused: (n, now) =>
		row(n, now, {
			state: "paused",
			why: "paused until 15:00 (rollout)",
			overrides: `paused until 15:00 (${canary})`,
		}),
	starting: (n, now) =>
		row(n, now, {
			state: "not_sized",
			phase: "failed",
			trouble: "the fleet is not sized: the group jobs does not exist",
			desired: null,
			in_service: null,
			busy: null,
			idle: null,
			pending: null,
			draining: null,
			lost: null,
			backlog: null,
			oldest_age_s: null,
			in_time: null,
			objective_s: null,
			quantile: null,
			min: null,
			max: null,
			working: null,
			retrying: null,
			cost_per_hour: null,
			price_per_hour: null,
			expected_s: null,
			expected_in_time: null,
			arriving_per_s: null,
			why: "the fleet is not sized: the group jobs does not exist",
			decision: {
				id: "",
				at: "0001-01-01T00:00:00Z",
				fleet: n,
				policy: "",
				previous: 0,
				wish: 0,
				desired: 0,
				verdict: "",
				reason: "",
				sentence: "",
			},
		}),
	[`evil ${canary}`]: (n, now) =>
		row(n, now, { state: "failing", why: `last error: ${canary}`, decision: decided(n, 2, 3, canary, now - 5000) }),
};

/** fleets makes n rows; the first ones are in every state. */
export function fleets(n, now) {
	const chance = random(7);
	const all = Object.entries(special).map(([name, make]) => make(name, now));
	while (all.length < n) {
		const age = Math.round(chance() * 40);
		all.push(
			row(`fleet-${String(all.length).padStart(4, "0")}`, now, {
				oldest_age_s: age,
				backlog: Math.round(chance() * 80),
				in_service: 1 + Math.round(chance() * 12),
				cost_per_hour: Math.round(chance() * 100) / 100,
			}),
		);
	}
	return all.slice(0, Math.max(n, Object.keys(special).length)).sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function series(name, r, from, to, points) {
	const step = Math.max(1, (to - from) / points);
	const at = [];
	const columns = {};
	const names = [
		"desired",
		"in_service",
		"busy",
		"pending",
		"min",
		"max",
		"backlog",
		"in_flight",
		"oldest_age_s",
		"objective_s",
		"processing_p50_s",
		"processing_p95_s",
		"per_worker",
		"acceptable_per_worker",
		"utilization",
		"utilization_target",
	];
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
			decisions.push({
				...decided(
					name,
					before,
					desired,
					`${backlog} messages wait, the oldest must start within 40s`,
					t * 1000,
				),
				id: `${name}/1.${at.length}`,
			});
			before = desired;
		}
	}
	return {
		fleet: name,
		from: new Date(from * 1000).toISOString(),
		to: new Date(to * 1000).toISOString(),
		step_s: step,
		at,
		columns,
		decisions: decisions.slice(-200),
		cut: false,
	};
}

const sample = (v) => (v === null ? { value: 0, known: false, reason: "AccessDenied" } : { value: v, known: true });

export function observation(r, at) {
	return {
		fleet: r.name,
		at,
		objective: { latency_ns: 60e9, quantile: 0.99 },
		limits: { min: 1, max: 20, launches_per_hour: 100 },
		queues: [
			{
				queue: `thumbs ${canary}`,
				backlog: sample(r.backlog),
				in_flight: sample(r.in_flight),
				delayed: sample(0),
				oldest_age_s: sample(r.oldest_age_s),
			},
		],
		capacity: { known: true, idle: r.idle, busy: r.busy, booting: r.pending, slots: 5 },
		processing: { known: true, count: 400, mean_s: 2.3 },
		boot: { known: true, count: 9, mean_s: 41 },
		arrivals: { known: true, minute_per_s: 1.4 },
		progress: { last_error: canary },
	};
}

export const trail = [
	{
		rule: "exact",
		in: [
			{ name: "backlog", value: 40 },
			{ name: "mpd_s", value: 2.31 },
			{ name: "slack_s", value: 44.2 },
		],
		out: 5,
		why: "40 messages wait at most 9s with 5 workers, and fewer would be late",
	},
	{
		rule: "stabilisation",
		in: [{ name: "window_s", value: 60 }],
		out: 5,
		why: "the recommendation of the last minute was at most 5",
	},
	{
		rule: "limits",
		in: [
			{ name: "min", value: 1 },
			{ name: "max", value: 20 },
		],
		out: 5,
		why: "",
	},
];

export function detail(r, now) {
	const at = new Date(now).toISOString();
	const hurt = r.state === "failing";
	const failure = {
		at,
		fleet: r.name,
		member: "m1",
		queue: "thumbs",
		message: "5f1c9a70-3b1e-4a70-9a41-1f0c2a7d9be1",
		attempt: 2,
		error: `exit status 1 ${hurt ? canary : ""}`,
		output: "convert: not found",
		took_seconds: 0.25,
		again_seconds: 30,
	};
	return {
		at,
		row: r,
		status: {
			name: r.name,
			phase: r.phase,
			ready: true,
			observation: observation(r, at),
			sentence: r.decision.sentence,
			decision: { ...r.decision, floor: 1, trail },
			trouble: r.trouble || undefined,
			members: Array.from({ length: r.in_service ?? 0 }, (_, i) => ({
				id: i === 1 ? `worker ${canary}` : `${r.name.slice(0, 12)}.1.${i}`,
				state: i < (r.busy ?? 0) ? "busy" : "idle",
				launched_at: new Date(now - 900_000 - i * 60_000).toISOString(),
				slots: 1,
				busy: i < (r.busy ?? 0) ? 1 : 0,
				held_mean_s: 1.5 + i,
				incidents: i === 0 && hurt ? [{ worker: "w", kind: "lease_lost", count: 2, text: canary, at }] : [],
			})),
		},
		explanation: {
			why: "40 messages wait at most 9s with 5 workers",
			why_not_more: "More workers would bring no message in time that is not.",
			changes: [
				{ backlog: 180, desired: 6, sentence: "From 180 waiting messages on it would be 6 workers." },
				{ backlog: 20, desired: 4, sentence: "Below 20 waiting messages it would be 4 workers." },
			],
		},
		failures: hurt
			? [{ at, kind: "failed", member: "m1", message: failure.message, text: failure.error, failure }]
			: [],
		dead_letters: hurt
			? [
					{
						queue: "thumbs-dead",
						source: "thumbs",
						messages: 12,
						reasons: [{ message: failure.message, sent: at, receives: 3, failure }],
					},
				]
			: [],
		trees:
			r.name === "healthy"
				? [
						{
							root: "crawl-1",
							queue: "thumbs",
							state: "running",
							reason: "",
							submitted_at: at,
							created: 812,
							done: 640,
							failed: 2,
							waiting: 90,
							out: 80,
							expected: 1100,
							per_s: 4,
							left_s: 115,
							depths: [
								{ depth: 0, created: 1, done: 1, failed: 0, open: 0 },
								{ depth: 1, created: 31, done: 31, failed: 0, open: 0 },
								{ depth: 2, created: 780, done: 608, failed: 2, open: 170 },
							],
						},
					]
				: [],
	};
}

export function incidents(now) {
	const at = (s) => new Date(now - s * 1000).toISOString();
	return {
		open: [
			{
				id: "a",
				kind: "objective_missed",
				fleet: "at-max",
				sentence: "The oldest message has waited for 3m34s, the objective is 1m0s.",
				command: "muster explain at-max",
				evidence: [
					{ name: "oldest_age_s", value: 214 },
					{ name: "backlog", value: 5230 },
				],
				began_at: at(400),
				opened_at: at(340),
			},
			{
				id: "b",
				kind: "work_failing",
				fleet: "failing",
				sentence: `76 attempts failed in the last 5 minutes; last error: ${canary}`,
				command: "muster logs failing",
				began_at: at(300),
				opened_at: at(200),
			},
		],
		recent: [
			{
				id: "c",
				kind: "blind",
				fleet: "blind",
				sentence: "The backlog was unknown.",
				began_at: at(4000),
				opened_at: at(3900),
				ended_at: at(3500),
			},
		],
		channels: [
			{
				channel: "ops",
				sent: 2,
				failed: 1,
				lost: 0,
				dropped: 0,
				waiting: 0,
				last_error: `connection refused ${canary}`,
			},
		],
	};
}
