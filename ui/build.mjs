// Bundles the dashboard into the folder that the program embeds, compressed. With the argument test, it compiles the
// unit tests into .test instead; with the argument dev DIR, it writes an uncompressed bundle into DIR.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const [mode, dir] = process.argv.slice(2);

/** most bounds everything that a browser loads for the first view, compressed, in bytes. */
const most = 100 * 1024;

if (mode === "test") {
	rmSync(join(here, ".test"), { recursive: true, force: true });
	await build({
		entryPoints: readdirSync(join(here, "test"))
			.filter((f) => f.endsWith(".test.ts"))
			.map((f) => join(here, "test", f)),
		bundle: true,
		platform: "node",
		format: "esm",
		outdir: join(here, ".test"),
		outExtension: { ".js": ".mjs" },
		logLevel: "warning",
	});
	process.exit(0);
}

// The licences of the bundled packages ask for their notice in every copy.
const notices = Object.keys(JSON.parse(readFileSync(join(here, "package.json"), "utf8")).dependencies)
	.map((name) => `${name}\n\n${readFileSync(join(here, "node_modules", name, "LICENSE"), "utf8").trim()}`)
	.join("\n\n");

const result = await build({
	banner: { js: `/*!\n${notices}\n*/` },
	entryPoints: [join(here, "src", "main.tsx"), join(here, "src", "style.css")],
	bundle: true,
	minify: true,
	format: "esm",
	target: ["es2022"],
	write: false,
	outdir: "out",
	legalComments: "none",
	jsx: "automatic",
	jsxImportSource: "preact",
	logLevel: "warning",
});
const target = dir ?? join(here, "..", "server", "page", "bundle");
mkdirSync(target, { recursive: true });
for (const f of readdirSync(target)) if (/\.(js|css|html|svg)(\.gz)?$/.test(f)) rmSync(join(target, f));

let sum = 0;
// put writes a file, and only its compressed form for the program: that keeps the program small.
function put(name, content, compress = true) {
	const packed = gzipSync(content, { level: 9 });
	sum += packed.length;
	if (mode === "dev" || !compress) writeFileSync(join(target, name), content);
	if (mode !== "dev" && compress) writeFileSync(join(target, `${name}.gz`), packed);
}

const named = {};
for (const file of result.outputFiles) {
	const extension = file.path.endsWith(".css") ? "css" : "js";
	const hash = createHash("sha256").update(file.contents).digest("hex").slice(0, 10);
	named[extension] = `app-${hash}.${extension}`;
	put(named[extension], file.contents);
}
put(
	"icon.svg",
	`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><path fill="#2f6fd0" \
d="M2 17V8l4-4v13zM8 17V3l4 4v10zM14 17V11l4-3v9z"/></svg>\n`,
	false,
);
put(
	"index.html",
	`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="color-scheme" content="light dark">
<title>Muster</title>
<link rel="icon" href="icon.svg">
<link rel="stylesheet" href="${named.css}">
<script type="module" src="${named.js}"></script>
</head>
<body>
<div id="app"></div>
<noscript>The dashboard needs JavaScript. muster status and muster top show the same in a terminal.</noscript>
</body>
</html>
`,
);
console.log(`the dashboard has ${sum} bytes, compressed; at most ${most} are allowed`);
if (sum > most) {
	console.error("fix: do without the dependency that came");
	process.exit(1);
}
