// The form of an action: reason and expiry first, then the plan of what would happen, then the change itself. Nothing
// changes before the plan was shown.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../api.ts";
import type { FleetRow, Override, Planned } from "../contract.ts";
import { count } from "../format.ts";
import { type ActionKind, emptyForm, filled, type Form, planText } from "../override.ts";
import { Notice, serverNow } from "./basic.tsx";

/** An action on a fleet. */
export type Action = { kind: ActionKind; fleet: string; label?: string; override?: Override };

/** actionsOf lists the actions that a fleet offers now. */
export function actionsOf(fleet: string, overrides: Override[]): (Action & { label: string })[] {
	const pause = overrides.find((o) => o.kind === "pause" && o.active);
	return [
		pause ? { kind: "resume", fleet, label: "Resume", override: pause } : { kind: "pause", fleet, label: "Pause" },
		{ kind: "limits", fleet, label: "Limits" },
		{ kind: "reserve", fleet, label: "Reserve" },
		{ kind: "hold-scale-in", fleet, label: "Hold scale-in" },
	];
}

const titles: Record<ActionKind, string> = {
	pause: "Pause",
	resume: "Resume",
	limits: "Temporary limits of",
	"hold-scale-in": "Hold scale-in of",
	reserve: "Reserve workers of",
	cancel: "End an override of",
};

const meanings: Record<ActionKind, string> = {
	pause: "The size stays as it is until the pause ends.",
	resume: "The fleet is sized again at once.",
	limits: "Other limits hold until they end. They stay within those of the configuration.",
	"hold-scale-in": "The fleet may grow, and does not shrink until this ends.",
	reserve: "Workers are in service at the stated time, for messages that you will send.",
	cancel: "The configuration holds again at once.",
};

/** address is the request of an action: its method, path and whether it has a body. */
function address(a: Action): { method: string; path: string; body: boolean } {
	const fleet = `v1/fleets/${encodeURIComponent(a.fleet)}`;
	if (a.kind === "resume" || a.kind === "cancel") {
		return {
			method: "DELETE",
			path: `${fleet}/overrides/${encodeURIComponent(a.override?.id ?? "")}`,
			body: false,
		};
	}
	return { method: "POST", path: `${fleet}/overrides`, body: true };
}

interface ActionProps {
	action: Action;
	row: FleetRow;
	/** done is called after the change. */
	done: () => void;
	onClose: () => void;
}

/** ActionDialog asks for everything that an action needs, shows its plan and carries it out. */
export function ActionDialog({ action: a, row, done, onClose }: ActionProps) {
	const dialog = useRef<HTMLDialogElement>(null);
	const [form, setForm] = useState<Form>(emptyForm());
	const [plan, setPlan] = useState<string[] | null>(null);
	const [error, setError] = useState("");
	const [busy, setBusy] = useState(false);
	useEffect(() => {
		dialog.current?.showModal();
	}, []);
	const set = (field: keyof Form) => (e: { currentTarget: HTMLInputElement }) => {
		setForm({ ...form, [field]: e.currentTarget.value });
		setPlan(null); // a plan holds for what was typed when it was made
	};
	const call = async (dry: boolean) => {
		const request = filled(a.kind, form, serverNow());
		if (request.error !== undefined) return setError(request.error);
		const to = address(a);
		setBusy(true);
		setError("");
		try {
			const said = await send<Planned>(
				to.method,
				dry ? `${to.path}?plan=1` : to.path,
				to.body ? request.body : undefined,
			);
			if (dry) setPlan(planText(said));
			else {
				done();
				dialog.current?.close();
			}
		} catch (err) {
			setError(err instanceof Error ? err.message : String(err));
		} finally {
			setBusy(false);
		}
	};
	const asks = address(a).body;
	return (
		<dialog ref={dialog} onClose={onClose} aria-labelledby="action-title">
			<form
				onSubmit={(e) => {
					e.preventDefault();
					void call(plan === null);
				}}
			>
				<h2 id="action-title">
					{titles[a.kind]} {a.fleet}
				</h2>
				<p class="muted">{meanings[a.kind]}</p>
				{a.kind === "limits" && (
					<div class="fields">
						<Field
							label="Minimum"
							hint={`now: ${count(row.min)}`}
							value={form.min}
							onInput={set("min")}
							numeric
						/>
						<Field
							label="Maximum"
							hint={`now: ${count(row.max)}`}
							value={form.max}
							onInput={set("max")}
							numeric
						/>
					</div>
				)}
				{a.kind === "reserve" && (
					<div class="fields">
						<Field
							label="Workers"
							hint={`at most ${count(row.max)}`}
							value={form.workers}
							onInput={set("workers")}
							numeric
						/>
						<Field
							label="In service at"
							hint="such as 14:00; empty: now"
							value={form.at}
							onInput={set("at")}
						/>
					</div>
				)}
				{asks && (
					<div class="fields">
						<Field
							label="Reason"
							hint="shown in the decision log"
							value={form.reason}
							onInput={set("reason")}
							wide
						/>
						<Field
							label="Ends after"
							hint="such as 30m, 2h, 1d"
							value={form.until}
							onInput={set("until")}
						/>
					</div>
				)}
				{error && <Notice kind="bad">{error}</Notice>}
				<PlanNotice plan={plan} />
				<footer>
					<button type="button" onClick={() => dialog.current?.close()}>
						Cancel
					</button>
					<button type="submit" class="primary" disabled={busy}>
						{plan === null ? "Show the plan" : "Do it"}
					</button>
				</footer>
			</form>
		</dialog>
	);
}

interface FieldProps {
	label: string;
	hint: string;
	value: string;
	onInput: (e: { currentTarget: HTMLInputElement }) => void;
	numeric?: boolean;
	wide?: boolean;
}

/** Field is an input with its label and a hint. */
export function Field({ label, hint, value, onInput, numeric, wide }: FieldProps) {
	return (
		<label class={wide ? "field wide" : "field"}>
			<span>{label}</span>
			<input
				type="text"
				inputMode={numeric ? "numeric" : "text"}
				value={value}
				onInput={onInput}
				autoComplete="off"
			/>
			<small class="muted">{hint}</small>
		</label>
	);
}

/** PlanNotice tells what a request would change; null says that it was not asked yet. */
export function PlanNotice({ plan }: { plan: string[] | null }) {
	return (
		<div role="status">
			{plan && (
				<Notice kind="plain">
					<b>Plan</b>
					{plan.map((line) => (
						<p key={line}>{line}</p>
					))}
				</Notice>
			)}
		</div>
	);
}
