// The requests of the actions, from what a person typed. Everything here is pure: part/action.tsx shows the form.

import type { Member, Planned } from "./contract.ts";
import { clock, count, period, plural } from "./format.ts";

/** The kinds of actions on a fleet. */
export type ActionKind = "pause" | "resume" | "limits" | "hold-scale-in" | "reserve" | "cancel";

/** What a person typed into the form. */
export interface Form {
	reason: string;
	/** until is the length of time after which the change ends by itself, like 30m. */
	until: string;
	min: string;
	max: string;
	workers: string;
	/** at is when reserved workers must be in service: a local time like 14:00, or empty for now. */
	at: string;
}

/** emptyForm is the form at first. */
export function emptyForm(): Form {
	return { reason: "", until: "30m", min: "", max: "", workers: "", at: "" };
}

/** The request, or what is wrong with the form. */
export type Filled = { body: Record<string, unknown>; error?: undefined } | { body?: undefined; error: string };

const longest = 30 * 86400;

/** filled turns a form into the body of the request. now is in milliseconds. */
export function filled(kind: ActionKind, form: Form, now: number): Filled {
	const reason = form.reason.trim();
	if (kind === "resume" || kind === "cancel") return { body: {} };
	if (reason === "") return { error: "State a reason: the decision log shows it." };
	if (reason.length > 200) return { error: "A reason has at most 200 characters." };
	const seconds = period(form.until);
	if (seconds === null) return { error: "State when it ends, such as 30m, 2h or 1d." };
	if (seconds > longest) return { error: "It must end within 30 days." };
	const body: Record<string, unknown> = { kind, reason, for_s: seconds, by: "dashboard" };
	if (kind === "limits") {
		const min = whole(form.min);
		const max = whole(form.max);
		if (min === undefined && max === undefined) return { error: "State a minimum, a maximum or both." };
		if (min === null || max === null) return { error: "A limit is a whole number of workers, 0 or more." };
		if (min !== undefined && max !== undefined && min > max) return { error: "The minimum is above the maximum." };
		if (min !== undefined) body.min = min;
		if (max !== undefined) body.max = max;
	}
	if (kind === "reserve") {
		const workers = whole(form.workers);
		if (!workers) return { error: "State how many workers to reserve, 1 or more." };
		body.workers = workers;
		if (form.at.trim() !== "") {
			const at = timeOfDay(form.at, now);
			if (at === null) return { error: "State the time as 14:00, or leave it empty for now." };
			body.begin = new Date(at).toISOString();
		}
	}
	return { body };
}

/** planText says in sentences what an action would change. */
export function planText(p: Planned): string[] {
	const lines: string[] = [];
	const grant = p.override?.grant;
	if (grant) {
		const when = grant.in_service_at ? `, in service at ${clock(grant.in_service_at)}` : "";
		lines.push(`Reserves ${plural(grant.workers, "worker")}${when}${grant.why?.length ? `: ${grant.why.join("; ")}` : ""}.`);
	}
	const plan = p.plan;
	if (!plan) return lines;
	if (plan.launch > 0) lines.push(`Would launch ${plural(plan.launch, "worker")}.`);
	else if (plan.stop > 0) {
		const idle = `${plural(plan.stop_idle, "idle worker")}, ${count(plan.stop_busy)} busy`;
		lines.push(
			plan.stop_idle + plan.stop_busy > 0
				? `Would stop ${idle}; a busy one finishes first.`
				: `Would stop ${plural(plan.stop, "worker")}; the fleet's own service chooses which.`,
		);
	} else lines.push("No worker would be launched or stopped now.");
	lines.push(`Desired ${count(plan.from)} → ${count(plan.to)}: ${plan.sentence}`);
	return lines;
}

/** mayRelease tells whether a worker can be asked to go: it is in service, and was not asked before. */
export function mayRelease(m: Member): boolean {
	return m.state === "idle" || m.state === "busy";
}

/** releaseText says what becomes of a worker that is released. */
export function releaseText(m: Member): string {
	if (!mayRelease(m)) return `It is not in service any more: it is ${m.state}.`;
	if (m.busy === 0) return "It has no message now. It takes no more messages, and ends.";
	const held = m.busy === 1 ? "the message" : `the ${m.busy} messages`;
	return `It takes no more messages, finishes ${held} it has, and ends.`;
}

/** releasePlan says in sentences what a release would change. */
export function releasePlan(p: Planned): string[] {
	const plan = p.plan;
	if (!plan) return [];
	const busy = plan.stop_busy > 0;
	return [
		`Would stop ${busy ? "0 idle workers, 1 busy; it finishes first" : "1 idle worker, 0 busy"}.`,
		plan.launch > 0
			? "Another one would be launched in its place."
			: `No other would be launched: ${plural(plan.from, "worker")} → ${count(plan.to)}.`,
	];
}

// whole reads a whole number: undefined for an empty text, null for anything else.
function whole(text: string): number | null | undefined {
	if (text.trim() === "") return undefined;
	return /^\d{1,7}$/.test(text.trim()) ? Number(text.trim()) : null;
}

/**
 * timeOfDay returns the next time at which a local clock shows text, as 14:00, in milliseconds; null for another text.
 */
export function timeOfDay(text: string, now: number): number | null {
	const parts = /^(\d{1,2}):(\d{2})$/.exec(text.trim());
	const hours = Number(parts?.[1]);
	const minutes = Number(parts?.[2]);
	if (!parts || hours > 23 || minutes > 59) return null;
	const t = new Date(now);
	t.setHours(hours, minutes, 0, 0);
	if (t.getTime() <= now) t.setDate(t.getDate() + 1);
	return t.getTime();
}
