// The release of one worker: the page asks before it sends the request, because it cannot be taken back.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "../api.ts";
import type { Member } from "../contract.ts";
import { releaseText } from "../override.ts";
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
	const [error, setError] = useState("");
	const [busy, setBusy] = useState(false);
	useEffect(() => {
		dialog.current?.showModal();
	}, []);
	const carryOut = async () => {
		setBusy(true);
		setError("");
		try {
			const path = `v1/fleets/${encodeURIComponent(fleet)}/members/${encodeURIComponent(member.id)}/release`;
			await send("POST", path);
			dialog.current?.close();
		} catch (err) {
			setError(err instanceof Error ? err.message : String(err));
			setBusy(false);
		}
	};
	return (
		<dialog ref={dialog} onClose={onClose} aria-labelledby="release-title">
			<form
				onSubmit={(e) => {
					e.preventDefault();
					void carryOut();
				}}
			>
				<h2 id="release-title">Release {member.id}</h2>
				<p>{releaseText(member)}</p>
				<p>Another one replaces it if the work needs it. This cannot be taken back.</p>
				{error && <Notice kind="bad">{error}</Notice>}
				<footer>
					<button type="button" onClick={() => dialog.current?.close()}>
						Cancel
					</button>
					<button type="submit" class="primary" disabled={busy}>
						Release
					</button>
				</footer>
			</form>
		</dialog>
	);
}
