// The worker: starts the simulator with one request, and sends back what it tells. Go's own wasm_exec.js connects both.

import "go/wasm_exec.js";
import type { Job, Told } from "./job.ts";

/** Go is what wasm_exec.js defines. */
declare class Go {
	importObject: WebAssembly.Imports;
	env: Record<string, string>;
	exit: (code: number) => void;
	run(instance: WebAssembly.Instance): Promise<void>;
}

// cmd/playground reads and calls these names.
interface Scope {
	musterRequest: string;
	musterContent: Uint8Array | null;
	musterProgress: (share: number) => void;
	musterAnswer: (reply: string) => void;
	onmessage: (e: MessageEvent<Job>) => void;
	postMessage: (told: Told) => void;
}

const scope = globalThis as unknown as Scope;

scope.onmessage = async ({ data }) => {
	let answered = false;
	scope.musterRequest = data.request;
	scope.musterContent = data.content;
	scope.musterProgress = (share) => scope.postMessage({ share });
	scope.musterAnswer = (reply) => {
		answered = true;
		scope.postMessage({ reply });
	};
	let why = "it ended without an answer";
	try {
		const go = new Go();
		go.env = { GOGC: "400" }; // memory for speed: a quarter less time than with Go's default
		go.exit = (code) => (why = `it ended with code ${code}`);
		await go.run(new WebAssembly.Instance(data.module, go.importObject));
	} catch (err) {
		why = err instanceof Error ? err.message : String(err);
	}
	if (answered) return;
	const error = `The simulator failed: ${why}. If the trace is large, it may be out of memory: cut it, or use muster simulate.`;
	scope.postMessage({ reply: JSON.stringify({ error }) });
};
