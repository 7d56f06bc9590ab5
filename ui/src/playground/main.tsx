// The playground: a trace, a configuration and a change of it, simulated in this browser. Nothing leaves it.

import { render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Choices, policies, type Result, Shown } from "../page/whatif.tsx";
import { Field } from "../part/action.tsx";
import { CopyButton, Notice } from "../part/basic.tsx";
import { useStore } from "../store.ts";
import { choose, type Theme, theme, watchTheme } from "../theme.ts";
import { settings } from "../whatif.ts";
import { type BuiltIn, type Counts, counted, largest, type Request, shifted } from "./job.ts";
import { ask } from "./simulator.ts";

// The choices of the trace that are no built-in one.
const ownFile = "file";
const generated = "generator";

const midnight = new Date(2026, 0, 5); // a Monday, as in the simulated world

function text(err: unknown): string {
	return err instanceof Error ? err.message : String(err);
}

function App() {
	const [traces, setTraces] = useState<BuiltIn[]>([]);
	const [failed, setFailed] = useState("");
	const load = async () => {
		setFailed("");
		try {
			setTraces((await ask({ list: true })).traces ?? []);
		} catch (err) {
			setFailed(text(err));
		}
	};
	useEffect(() => void load(), []);
	return (
		<>
			<Bar />
			<main id="main" tabIndex={-1}>
				<header class="page">
					<h1>Playground</h1>
					<p class="lead">
						Muster's simulator in this browser: choose a trace or your own file, change the policy, and compare.
						Nothing is sent anywhere.
					</p>
				</header>
				{failed && (
					<Notice kind="bad">
						{failed}{" "}
						<button type="button" class="quiet" onClick={() => void load()}>
							Try again
						</button>
					</Notice>
				)}
				{traces.length > 0 ? (
					<Playground traces={traces} />
				) : (
					!failed && <p class="muted">Loading the simulator, about 3 MB…</p>
				)}
			</main>
		</>
	);
}

function Bar() {
	const chosen = useStore(theme);
	return (
		<header class="bar">
			<span class="brand">
				<svg viewBox="0 0 20 20" width="18" height="18" aria-hidden="true">
					<path d="M2 17V8l4-4v13zM8 17V3l4 4v10zM14 17V11l4-3v9z" />
				</svg>
				Muster
			</span>
			<div class="tools">
				<select aria-label="Theme" value={chosen} onChange={(e) => choose(e.currentTarget.value as Theme)}>
					<option value="system">System</option>
					<option value="light">Light</option>
					<option value="dark">Dark</option>
				</select>
			</div>
		</header>
	);
}

// What runs now. bounding is true while only the lower bound is missing.
interface Running {
	abort: AbortController;
	share: number;
	bounding: boolean;
}

function Playground({ traces }: { traces: BuiltIn[] }) {
	const [chosen, setChosen] = useState(traces[0]?.name ?? "");
	const [file, setFile] = useState<File | null>(null);
	const [spec, setSpec] = useState("poisson:rate=2,duration=1h,service=10s");
	const [counts, setCounts] = useState<Counts>({ service: "", cv: "", spread: "even" });
	const [configuration, setConfiguration] = useState(traces[0]?.configuration ?? "");
	const [policy, setPolicy] = useState("");
	const [keys, setKeys] = useState("max: 20");
	const [others, setOthers] = useState<string[]>(["aws-dynamic", "keda"]);
	const [bound, setBound] = useState(true);
	const [result, setResult] = useState<Result | null>(null);
	const [error, setError] = useState("");
	const [running, setRunning] = useState<Running | null>(null);
	const [over, setOver] = useState(false);
	const current = useRef<Running | null>(null);

	const pick = (name: string) => {
		setChosen(name);
		const found = traces.find((t) => t.name === name);
		if (found) setConfiguration(found.configuration);
	};
	const take = (f: File | undefined) => {
		if (!f) return;
		setError("");
		setFile(f);
		setChosen(ownFile);
	};
	const show = (r: Running | null) => {
		current.current = r;
		setRunning(r);
	};

	// request returns what the form asks for, or what is wrong in it.
	const request = (): Request | string => {
		const set = settings(keys);
		if (set.error !== undefined) return set.error;
		const all: Request = { configuration, policy, set: set.keys, others };
		if (chosen === generated) return { ...all, trace: spec.trim() };
		if (chosen !== ownFile) return { ...all, trace: chosen };
		if (!file) return "Choose a file, or drop one on this page.";
		if (file.size > largest) {
			const found = (file.size / 2 ** 20).toFixed(0);
			return `${file.name} has ${found} MB, at most ${largest / 2 ** 20} are allowed. Compress it with gzip, or use muster simulate.`;
		}
		const of = counted(counts);
		return "error" in of ? (of.error as string) : { ...all, file: file.name, ...of };
	};

	const run = async () => {
		const asked = request();
		if (typeof asked === "string") return setError(asked);
		const me: Running = { abort: new AbortController(), share: 0, bounding: false };
		const { signal } = me.abort;
		const mine = () => current.current?.abort === me.abort;
		setError("");
		setResult(null);
		show(me);
		try {
			const content = chosen === ownFile && file ? new Uint8Array(await file.arrayBuffer()) : null;
			// The bound may take longer than the runs. It has a worker of its own, and its row comes when it is done.
			const least = bound ? ask({ ...asked, bound_only: true }, content, signal) : null;
			least?.catch(() => undefined);
			const tell = (share: number) => mine() && show({ ...me, share });
			const { found, error: refused } = await ask(asked, content, signal, tell);
			if (!found) throw new Error(refused ?? "The simulator gave no answer.");
			const replay = shifted(found, midnight);
			setResult({ replay, recorded: null, unread: "" });
			if (!least) return;
			show({ ...me, share: 1, bounding: true });
			const lowest = await least;
			if (!lowest.found) throw new Error(lowest.error ?? "The simulator gave no bound.");
			const { bound: b } = lowest.found;
			setResult({ replay: b ? { ...replay, bound: b } : replay, recorded: null, unread: "" });
		} catch (err) {
			if (!signal.aborted) setError(text(err));
		} finally {
			me.abort.abort(); // ends the other worker
			if (mine()) show(null);
		}
	};

	return (
		<>
			<form
				class={over ? "block over" : "block"}
				onDragOver={(e) => {
					e.preventDefault();
					setOver(true);
				}}
				onDragLeave={() => setOver(false)}
				onDrop={(e) => {
					e.preventDefault();
					setOver(false);
					take(e.dataTransfer?.files[0]);
				}}
				onSubmit={(e) => {
					e.preventDefault();
					void run();
				}}
			>
				<div class="fields">
					<label class="field">
						<span>Trace</span>
						<select value={chosen} onChange={(e) => pick(e.currentTarget.value)}>
							{traces.map((t) => (
								<option key={t.name} value={t.name}>
									{t.name}: {t.what}
								</option>
							))}
							<option value={generated}>a generator…</option>
							<option value={ownFile}>a file…</option>
						</select>
						<small class="muted">when messages arrive, and how long their work takes</small>
					</label>
					<label class="field">
						<span>Your file</span>
						<input
							type="file"
							accept=".csv,.gz,.swf,.txt"
							onChange={(e) => take(e.currentTarget.files?.[0])}
						/>
						<small class="muted">
							{file ? `${file.name}, ${(file.size / 1024).toFixed(1)} KB` : "CSV, SWF or counts; drop it here"}
						</small>
					</label>
					{chosen === generated && (
						<Field
							label="Generator"
							hint="a name with settings, as in poisson:rate=2,service=10s"
							value={spec}
							onInput={(e) => setSpec(e.currentTarget.value)}
							wide
						/>
					)}
				</div>
				{chosen === ownFile && <CountsOf counts={counts} choose={setCounts} />}
				<div class="fields">
					<label class="field wide">
						<span>Configuration</span>
						<textarea
							rows={11}
							class="mono"
							spellcheck={false}
							value={configuration}
							onInput={(e) => setConfiguration(e.currentTarget.value)}
						/>
						<small class="muted">one fleet, as in muster.yaml; this is the present one</small>
					</label>
					<div class="field wide">
						<label class="field">
							<span>Policy</span>
							<select value={policy} onChange={(e) => setPolicy(e.currentTarget.value)}>
								<option value="">the present one</option>
								{policies.map((p) => (
									<option key={p}>{p}</option>
								))}
							</select>
							<small class="muted">the policy to try</small>
						</label>
						<label class="field">
							<span>Changed keys of the fleet</span>
							<textarea
								rows={5}
								class="mono"
								spellcheck={false}
								value={keys}
								placeholder={"max: 40\nobjective.latency: 30s"}
								onInput={(e) => setKeys(e.currentTarget.value)}
							/>
							<small class="muted">one key: value in each line, such as policy.scale: 0.8</small>
						</label>
						<CopyButton text={configuration} label="Copy the present configuration" />
					</div>
				</div>
				<Choices chosen={others} choose={setOthers} />
				<label>
					<input type="checkbox" checked={bound} onChange={(e) => setBound(e.currentTarget.checked)} /> the lower
					bound of the cost, which takes longest
				</label>
				{error && (
					// a fault of the configuration points at its place by a line of text
					<Notice kind="bad">{error.includes("\n") ? <pre tabIndex={0}>{error}</pre> : error}</Notice>
				)}
				{running && (
					<progress
						aria-label="Progress"
						max={1}
						{...(running.bounding ? {} : { value: running.share })}
					/>
				)}
				<footer>
					{running && (
						<button type="button" onClick={() => running.abort.abort()}>
							Cancel
						</button>
					)}
					<button type="submit" class="primary" disabled={running !== null}>
						{running === null ? "Simulate" : running.bounding ? "Computing the bound…" : "Simulating…"}
					</button>
				</footer>
			</form>
			<div role="status" class="hidden">
				{result && !running ? "The simulation is done." : ""}
			</div>
			{result && <Shown result={result} />}
		</>
	);
}

// CountsOf asks for the duration of the work where a file does not have it.
function CountsOf({ counts, choose }: { counts: Counts; choose: (c: Counts) => void }) {
	return (
		<div class="fields">
			<Field
				label="Mean duration"
				hint="for a file of counts only, such as 10s"
				value={counts.service}
				onInput={(e) => choose({ ...counts, service: e.currentTarget.value })}
			/>
			<Field
				label="Variation"
				hint="coefficient of variation, such as 0.5"
				value={counts.cv}
				onInput={(e) => choose({ ...counts, cv: e.currentTarget.value })}
			/>
			<label class="field">
				<span>Arrivals in an interval</span>
				<select value={counts.spread} onChange={(e) => choose({ ...counts, spread: e.currentTarget.value })}>
					<option value="even">at equal distances</option>
					<option value="poisson">at random</option>
				</select>
				<small class="muted">for a file of counts only</small>
			</label>
		</div>
	);
}

watchTheme();
// A file that misses the form must not replace the page.
for (const name of ["dragover", "drop"]) window.addEventListener(name, (e) => e.preventDefault());
const root = document.getElementById("app");
if (root) render(<App />, root);
