// The JSON that the pages read from the API, as docs/api.md describes it. Only types stand here.
//
// A number that Muster does not know is null, or a Sample that is not known. It is never 0: a page shows it as "?" and
// a chart as a gap. Answers may gain fields, and lists without entries may be absent.

/** A number, or null while it is unknown. */
export type Known = number | null;

/** The state of a fleet. */
export type FleetState = "missing" | "failing" | "blind" | "not_sized" | "at_risk" | "paused" | "meeting";

/** What the API may answer to this browser. csrf is answered only by the login itself. */
export interface Session {
	role: "operator" | "reader";
	csrf?: string;
	expires_at: string;
	/** writes is false for a reader. peek tells whether this session may read messages. */
	writes: boolean;
	peek: boolean;
}

/** One named number in the arithmetic of a decision. */
export interface NamedValue {
	name: string;
	value: number;
}

/** One step of the arithmetic of a decision. */
export interface Term {
	rule: string;
	in?: NamedValue[];
	out: number;
	why: string;
}

/** A decision without its inputs. */
export interface ShortDecision {
	/** id is FLEET/EPOCH.SEQUENCE; empty for one that is not recorded. */
	id: string;
	fleet?: string;
	at: string;
	policy: string;
	previous: number;
	wish: number;
	desired: number;
	verdict: string;
	reason?: string;
	sentence: string;
}

/** A decision with its trail. */
export interface Decision {
	fleet: string;
	at: string;
	policy: string;
	previous: number;
	wish: number;
	desired: number;
	floor: number;
	verdict: string;
	reason?: string;
	trail?: Term[];
}

/** A time-limited instruction of an operator. */
export interface Override {
	id: string;
	kind: string;
	reason?: string;
	by?: string;
	begin: string;
	end: string;
	/** active is true between begin and end. */
	active: boolean;
	/** text is the override in words. */
	text: string;
	grant?: Grant | null;
}

/** What a reservation got. */
export interface Grant {
	workers: number;
	at_begin?: number;
	launch_at?: string;
	in_service_at?: string;
	why?: string[] | null;
}

/** The overrides of a fleet that act, and those that have not begun. */
export interface Overrides {
	fleet: string;
	at: string;
	overrides?: Override[] | null;
}

/** The answer to an action. plan is what it would change; it is there when only that was asked. */
export interface Planned {
	override?: Override;
	plan?: {
		from: number;
		to: number;
		launch: number;
		stop: number;
		stop_idle: number;
		stop_busy: number;
		sentence: string;
	};
}

/** One row of the fleet list. */
export interface FleetRow {
	name: string;
	state: FleetState;
	/** why says the state in a sentence. */
	why: string;
	phase?: string;
	/** trouble says why the fleet is not sized, or not as configured; empty otherwise. */
	trouble?: string;
	/** The share quantile of all messages must take at most objective_s seconds from sent to finished. */
	objective_s: Known;
	quantile: Known;
	oldest_age_s: Known;
	/** in_time is the share in time of the messages that ended in the last hour, 0 to 1. */
	in_time: Known;
	ended_last_hour: Known;
	backlog: Known;
	in_flight: Known;
	working: Known;
	retrying: Known;
	/** failed_lately counts the failed attempts of the last five minutes. */
	failed_lately: Known;
	dead_letters: Known;
	late: Known;
	/** expected_s and expected_in_time are for a message that arrives now, if the size stays as it is. */
	expected_s: Known;
	expected_in_time: Known;
	arriving_per_s: Known;
	min: Known;
	max: Known;
	at_max: boolean;
	desired: Known;
	in_service: Known;
	busy: Known;
	idle: Known;
	pending: Known;
	draining: Known;
	lost: Known;
	processing_p50_s: Known;
	processing_p95_s: Known;
	per_worker: Known;
	acceptable_per_worker: Known;
	utilization: Known;
	utilization_target: Known;
	/** overrides are those that act or have not begun, in words, one a line; empty for none. */
	overrides?: string;
	/** decision has an empty sentence before the first one. */
	decision: ShortDecision;
	cost_per_hour: Known;
	/** price_per_hour is the cost of one worker. */
	price_per_hour: Known;
}

/** Sums over all fleets. A sum is unknown if it is unknown of one of them. */
export interface Totals {
	desired: Known;
	in_service: Known;
	backlog: Known;
	cost_per_hour: Known;
	in_time: Known;
}

/** Everything that the fleet list shows. */
export interface Board {
	at: string;
	cursor: string;
	version: string;
	currency?: string;
	faults?: string[] | null;
	open_incidents: number;
	totals?: Totals;
	fleets: FleetRow[];
}

/** What changed since the event before: rows with only their changed fields, and the names of fleets that are gone. */
export interface Change {
	at: string;
	fleets?: (Partial<FleetRow> & { name: string })[] | null;
	gone?: string[] | null;
	totals?: Totals;
}

/** The answer to a client that polls. board is there when the cursor was too old for the events. */
export interface BoardSince {
	at: string;
	cursor: string;
	board?: Board;
	events?: { id: string; event: string; data: unknown }[] | null;
}

/** The curves of the last hour, by fleet. */
export interface Curves {
	from: string;
	step_s: number;
	fleets: Record<string, Record<string, Known[]>>;
}

/** A measured number. */
export interface Sample {
	at?: string;
	value: number;
	known: boolean;
	reason?: string;
}

/** An estimate of durations. */
export interface Estimate {
	known: boolean;
	mean_s?: number;
	[field: string]: unknown;
}

/** The inputs of a step, as far as the pages show them. */
export interface Observation {
	at: string;
	objective: { latency_ns: number; quantile: number };
	limits: { min: number; max: number; launches_per_hour: number };
	queues?: {
		queue: string;
		backlog: Sample;
		in_flight: Sample;
		delayed: Sample;
		oldest_age_s: Sample;
		retrying?: Sample;
		dead_letters?: Sample;
	}[];
	capacity: Record<string, number | boolean | string>;
	processing: Estimate;
	boot: Estimate;
	arrivals?: Record<string, number | boolean>;
	launches?: Record<string, unknown>;
	forecast?: Record<string, unknown>;
	progress?: Record<string, unknown> & { last_error?: string; last_error_at?: string };
	notes?: string[];
}

/** One member of a fleet. */
export interface Member {
	id: string;
	state: string;
	launched_at: string;
	slots: number;
	busy: number;
	held_mean_s?: number;
	incidents?: { worker: string; kind: string; count: number; text: string; at: string }[];
}

/** A fleet in the answer of the status route. */
export interface FleetStatus {
	name: string;
	phase: string;
	ready: boolean;
	observation: Observation;
	decision: Decision;
	sentence: string;
	policy?: Record<string, unknown>;
	trouble?: string;
	members?: Member[] | null;
}

/** A failed attempt at a message. */
export interface Failure {
	at: string;
	fleet?: string;
	member?: string;
	queue: string;
	message: string;
	attempt?: number;
	error: string;
	status?: number;
	signal?: string;
	output?: string;
	took_seconds: number;
	again_seconds?: number;
	dead_letter?: boolean;
}

/** A tree of recursive work. */
export interface Tree {
	root: string;
	queue: string;
	state: string;
	reason?: string;
	submitted_at: string;
	created: number;
	done: number;
	failed: number;
	expected: Known;
	left_s: Known;
	depths?: { depth: number; created: number; done: number; failed: number; open: number }[] | null;
}

/** A dead-letter queue, with its newest messages and why they failed. */
export interface DeadLetters {
	queue: string;
	source?: string;
	messages: Known;
	reasons?: { message: string; sent: string; receives: number; failure?: Failure }[] | null;
}

/** What explains a decision in words. */
export interface Explanation {
	why?: string;
	why_not_more?: string;
	changes?: { backlog?: number; desired?: number; sentence?: string }[] | null;
	[field: string]: unknown;
}

/** Everything that the page of one fleet shows beside its curves. */
export interface FleetDetail {
	row: FleetRow;
	status: FleetStatus;
	explanation?: Explanation | null;
	failures?: LogRecord[] | null;
	dead_letters?: DeadLetters[] | null;
	trees?: Tree[] | null;
}

/** The curves of one fleet over a window. at is in unix seconds. */
export interface Series {
	from: string;
	to: string;
	step_s: number;
	at: number[];
	columns: Record<string, Known[]>;
	decisions?: ShortDecision[] | null;
}

/** One line of a worker's log. */
export interface LogRecord {
	at: string;
	kind?: string;
	member?: string;
	message?: string;
	stream?: string;
	level?: string;
	text?: string;
	repeated?: number;
	failure?: Failure;
}

/** A page of decisions. next continues it; it is empty at the end. */
export interface DecisionPage {
	decisions: ShortDecision[];
	next?: string;
	/** cut is true when older decisions of all fleets were not searched. */
	cut?: boolean;
}

/** A recorded decision with its inputs. */
export interface DecisionRecord {
	id: string;
	record: { position?: unknown; observation: Observation; decision: Decision; sentence: string };
	explanation?: Explanation | null;
}

/** An incident. */
export interface Incident {
	id: string;
	kind: string;
	fleet?: string;
	subject?: string;
	sentence: string;
	command?: string;
	evidence?: NamedValue[];
	began_at: string;
	opened_at: string;
	ended_at?: string;
}

/** All incidents, and the state of the channels of their notices. */
export interface Incidents {
	open: Incident[];
	recent: Incident[];
	channels: { channel: string; last_error?: string; sent?: number; lost?: number; dropped?: number }[];
}

/** The counts of an embedded queue. sources are the queues whose dead letters it takes. */
export interface QueueCounts {
	retrying?: Known;
	visible?: Known;
	in_flight?: Known;
	delayed?: Known;
	damaged?: Known;
	oldest_sent?: string;
	dead_letter_queue?: string;
	sources?: string[] | null;
}

/** The embedded queues. */
export interface Queues {
	queues: string[];
	counts: Record<string, QueueCounts>;
}

/** The last moves of messages out of a dead-letter queue. to is empty when each goes back to where it came from. */
export interface QueueMoves {
	moves: {
		id: string;
		to: string;
		status: string;
		failure: string;
		started: string;
		moved: number;
		to_move: number;
	}[];
}

/** A message that a person looks at. */
export interface PeekedMessage {
	id: string;
	state: string;
	damaged?: string;
	sent: string;
	age_seconds: number;
	receives: number;
	group?: string;
	source?: string;
	attributes?: Record<string, { type: string; value?: string; binary?: string }>;
	last_error?: Failure;
	body: string;
	body_bytes: number;
	body_cut: boolean;
}

/** The answer of a peek. */
export interface Peek {
	queue: string;
	at: string;
	messages: PeekedMessage[];
	cut: boolean;
	last_errors_unknown?: string;
}

/** One key of the configuration in force, with the place that set it: "file" with its line, or "default". */
export interface ConfigurationValue {
	path: string;
	value: string;
	source: string;
	line: number;
}

/** A key whose value changed. before or after is empty where the key did not stand. */
export interface ChangedValue {
	path: string;
	before: string;
	after: string;
	line: number;
}

/** A reload of the configuration, and what it changed. */
export interface Reload {
	at: string;
	ok: boolean;
	said: string;
	changes?: ChangedValue[] | null;
}

/** The configuration in force. */
export interface Configuration {
	file: string;
	values?: ConfigurationValue[] | null;
	/** waiting are the keys of the file that take effect at the next start. */
	waiting?: ChangedValue[] | null;
	last_reload?: Reload | null;
	/** reloads are the last ones, newest first. */
	reloads?: Reload[] | null;
	/** faults are why the last reload was refused. */
	faults?: string[] | null;
}

/**
 * What one configuration or autoscaler came to in a replay. kind is recorded for what really happened, present, changed
 * or other.
 */
export interface Run {
	name: string;
	kind: string;
	in_time: Known;
	p50_s: Known;
	p95_s: Known;
	p99_s: Known;
	worker_hours: Known;
	cost: Known;
	scale_events: Known;
	launches: Known;
	peak_workers: Known;
	/** Each curve has one value for each step_s seconds of the window. The series has those of what really happened. */
	curves: {
		step_s: number;
		desired: number[];
		in_service: number[];
		backlog: number[];
		oldest_age_s: number[];
	} | null;
	/** failure says why the run failed; then no figure is known. */
	failure?: string;
}

/** The recorded work of a fleet, replayed under other configurations. */
export interface Replay {
	fleet: string;
	from: string;
	to: string;
	messages: number;
	objective_s: number;
	quantile: number;
	notes?: string[] | null;
	runs: Run[];
	/** bound is the least cost of any scheduler that meets the objective. */
	bound?: { worker_hours: number; cost: Known; unreachable: boolean };
	/** yaml is the changed fleet as a part of a configuration; empty without a change. */
	yaml?: string;
}
