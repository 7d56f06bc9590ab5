// The simulator: loads and compiles it once, and runs each request in a worker of its own. A worker that is ended gives
// its memory back at once, and leaves nothing behind for the next request.

import type { Job, Reply, Request, Told } from "./job.ts";

// The build replaces these names by those of its files.
declare const WORKER_FILE: string;
declare const SIMULATOR_FILE: string;

let compiled: Promise<WebAssembly.Module> | null = null;

// load fetches the simulator. The file is compressed, because uncompressed it has 11 MB; a server that declares this
// lets the browser decompress it.
async function load(): Promise<WebAssembly.Module> {
	const response = await fetch(SIMULATOR_FILE, { credentials: "omit" });
	if (!response.ok) throw new Error(`The simulator was not loaded: ${SIMULATOR_FILE} is answered with ${response.status}.`);
	const bytes = new Uint8Array(await response.arrayBuffer());
	if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return WebAssembly.compile(bytes);
	const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
	return WebAssembly.compile(await new Response(unpacked).arrayBuffer());
}

// simulator returns the compiled simulator. A failed load is tried again by the next request.
function simulator(): Promise<WebAssembly.Module> {
	compiled ??= load().catch((err: unknown) => {
		compiled = null;
		throw err;
	});
	return compiled;
}

/** ask runs one request. Aborting the signal ends it at once. tell is called with the finished share of the work. */
export async function ask(
	request: Request,
	content: Uint8Array<ArrayBuffer> | null = null,
	signal?: AbortSignal,
	tell?: (share: number) => void,
): Promise<Reply> {
	const module = await simulator();
	signal?.throwIfAborted();
	const worker = new Worker(WORKER_FILE);
	try {
		return await new Promise<Reply>((resolve, reject) => {
			signal?.addEventListener("abort", () => reject(signal.reason));
			worker.onmessage = ({ data }: MessageEvent<Told>) => {
				if ("share" in data) tell?.(data.share);
				else resolve(JSON.parse(data.reply) as Reply);
			};
			worker.onerror = (e) => reject(new Error(`The simulator ended: ${e.message || "it could not be started"}.`));
			worker.postMessage({ module, request: JSON.stringify(request), content } satisfies Job);
		});
	} finally {
		worker.terminate();
	}
}
