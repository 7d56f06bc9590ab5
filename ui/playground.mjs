// Bundles the playground into a folder of static files:
//
//	node playground.mjs DIR SIMULATOR WASM_EXEC
//
// SIMULATOR is cmd/playground compiled to WebAssembly, and WASM_EXEC is wasm_exec.js of the Go that compiled it.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [target, simulator, wasmExec] = process.argv.slice(2);

/** most bounds the compressed simulator, in bytes. */
const most = 5_000_000;

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

// put writes a file under a name that changes with its content, and returns the name.
function put(name, extension, content) {
	const hash = createHash("sha256").update(content).digest("hex").slice(0, 10);
	const file = `${name}-${hash}.${extension}`;
	writeFileSync(join(target, file), content);
	return file;
}

// The licences of the bundled packages ask for their notice in every copy.
const notice = (name, file) => `${name}\n\n${readFileSync(file, "utf8").trim()}`;
const notices = ["preact", "uplot"].map((name) => notice(name, join(here, "node_modules", name, "LICENSE")));
const banner = (text) => ({ js: `/*!\n${text.replaceAll("*/", "* /")}\n*/` });

const common = {
	bundle: true,
	minify: true,
	target: ["es2022"],
	write: false,
	outdir: "out",
	legalComments: "none",
	jsx: "automatic",
	jsxImportSource: "preact",
	logLevel: "warning",
};

const program = readFileSync(simulator);
const packed = gzipSync(program, { level: 9 });
const simulatorFile = put("simulator", "wasm.gz", packed);

const worker = await build({
	...common,
	entryPoints: [join(here, "src", "playground", "worker.ts")],
	format: "iife",
	alias: { "go/wasm_exec.js": wasmExec },
	banner: banner(readFileSync(wasmExec, "utf8").split("\n").slice(0, 3).join("\n").replace(/^\/\/ ?/gm, "")),
});
const workerFile = put("worker", "js", worker.outputFiles[0].contents);

const page = await build({
	...common,
	entryPoints: [join(here, "src", "playground", "main.tsx"), join(here, "src", "style.css")],
	format: "esm",
	define: { WORKER_FILE: JSON.stringify(workerFile), SIMULATOR_FILE: JSON.stringify(simulatorFile) },
	banner: banner(notices.join("\n\n")),
});
const named = {};
for (const file of page.outputFiles) {
	const extension = file.path.endsWith(".css") ? "css" : "js";
	named[extension] = put("app", extension, file.contents);
}

writeFileSync(
	join(target, "icon.svg"),
	`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><path fill="#2f6fd0" \
d="M2 17V8l4-4v13zM8 17V3l4 4v10zM14 17V11l4-3v9z"/></svg>\n`,
);
// The policy stands in the page, because a static server may be unable to send one. It allows to compile the simulator,
// and requests to the page's own server only.
const policy =
	"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'";
writeFileSync(
	join(target, "index.html"),
	`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>Muster playground</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="${named.css}">
<script type="module" src="${named.js}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The playground needs JavaScript. muster simulate does the same in a terminal.</noscript>
</body>
</html>
`,
);
console.log(
	`the simulator has ${packed.length} bytes, compressed (${program.length} uncompressed); at most ${most} are allowed`,
);
if (packed.length > most) {
	console.error("fix: find what cmd/playground imports now: go list -deps ./cmd/playground");
	process.exit(1);
}
