// The release of one worker: a reason, then the plan, then the request, because it cannot be taken back.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../api.ts";
import type { Member, Planned } from "../contract.ts";
import { releasePlan, releaseText } from "../override.ts";
import { Field, PlanNotice } from "./action.tsx";
import { Notice } from "./basic.tsx";

interface ReleaseProps {
	fleet: string;
	/** member is the worker as last told, so that the text stays true while the dialog is open. */
	member: Member;
	onClose: () => void;
}

/** ReleaseDialog says what would become of a worker, and asks it to finish its messages and go. */
export function ReleaseDialog({ fleet, member, onClose }: ReleaseProps) {
	const dialog = useRef<HTMLDialogElement>(null);
	const [reason, setReason] = useState("");
	const [plan, setPlan] = useState<string[] | null>(null);
	const [error, setError] = useState("");
	const [busy, setBusy] = useState(false);
	useEffect(() => {
		dialog.current?.showModal();
	}, []);
	const call = async (dry: boolean) => {
		const said = reason.trim();
		if (said === "") return setError("State a reason: the history keeps it.");
		setBusy(true);
		setError("");
		try {
			const path = `v1/fleets/${encodeURIComponent(fleet)}/members/${encodeURIComponent(member.id)}/release`;
			const body = { reason: said, by: "dashboard" };
			if (dry) setPlan(releasePlan(await send<Planned>("POST", `${path}?plan=1`, body)));
			else {
				await send("POST", path, body);
				dialog.current?.close();
			}
		} catch (err) {
			setError(err instanceof Error ? err.message : String(err));
		} finally {
			setBusy(false);
		}
	};
	return (
		<dialog ref={dialog} onClose={onClose} aria-labelledby="release-title">
			<form
				onSubmit={(e) => {
					e.preventDefault();
					void call(plan === null);
				}}
			>
				<h2 id="release-title">Release {member.id}</h2>
				<p>{releaseText(member)}</p>
				<p>Another one replaces it if the work needs it. This cannot be taken back.</p>
				<div class="fields">
					<Field
						label="Reason"
						hint="kept in the history"
						value={reason}
						onInput={(e) => {
							setReason(e.currentTarget.value);
							setPlan(null);
						}}
						wide
					/>
				</div>
				{error && <Notice kind="bad">{error}</Notice>}
				<PlanNotice plan={plan} />
				<footer>
					<button type="button" onClick={() => dialog.current?.close()}>
						Cancel
					</button>
					<button type="submit" class="primary" disabled={busy}>
						{plan === null ? "Show the plan" : "Release"}
					</button>
				</footer>
			</form>
		</dialog>
	);
}
