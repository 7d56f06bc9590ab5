// The playground: the same bytes from the simulator compiled to WebAssembly as from the native program, and its page in
// a real browser, served by a server that only knows files.
//
//     node playground.mjs DIR PROGRAM
//
// DIR is what make playground built, PROGRAM is cmd/playground for this machine.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join } from "node:path";
import { runInThisContext } from "node:vm";
import { gunzipSync, gzipSync } from "node:zlib";
import { assert, within } from "./checks.mjs";
import { accessible, clean, inTurn, open, picture, schemes, sizes, start, upright } from "./browser.mjs";

const [dir, program] = process.argv.slice(2);
const files = readdirSync(dir);
const fileOf = (ending) => files.find((f) => f.endsWith(ending));
const work = mkdtempSync(join(tmpdir(), "playground-"));

// serve serves the files as a plain static server does. encoded declares the compression, as some servers do.
async function serve(encoded = false) {
  const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml" };
  const asked = [];
  const server = createServer((request, response) => {
    const name = request.url === "/" ? "index.html" : request.url.slice(1);
    asked.push(name);
    if (!files.includes(name)) return response.writeHead(404).end();
    const headers = { "Content-Type": types[extname(name)] ?? "application/octet-stream" };
    if (encoded && name.endsWith(".gz")) headers["Content-Encoding"] = "gzip";
    response.writeHead(200, headers).end(readFileSync(join(dir, name)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, asked, close: () => server.close() };
}

// native returns the answer of the native program, as text.
function native(request, content) {
  const flags = [];
  if (content) {
    writeFileSync(join(work, "content"), content);
    flags.push("-file", join(work, "content"));
  }
  const options = { input: JSON.stringify(request), encoding: "utf8", maxBuffer: 1 << 26 };
  return execFileSync(program, flags, options);
}

// simulated returns the answer of the page's own worker, as text, with the shares that it told.
const module = await WebAssembly.compile(gunzipSync(readFileSync(join(dir, fileOf(".wasm.gz")))));
let told = () => {};
globalThis.postMessage = (message) => told(message);
runInThisContext(readFileSync(join(dir, files.find((f) => f.startsWith("worker-"))), "utf8"));
function simulated(request, content = null) {
  const shares = [];
  return new Promise((resolve) => {
    told = (message) => ("share" in message ? shares.push(message.share) : resolve({ reply: message.reply, shares }));
    globalThis.onmessage({ data: { module, request: JSON.stringify(request), content } });
  });
}

const configuration = (max, more = "") => `version: 1
fleets:
  - name: jobs
    queue: jobs
    objective: {latency: 1m, quantile: 0.95}
    max: ${max}
    price: 0.05
    workers: {command: [./work], boot: 20s}
${more}`;
const csv = `arrival_s,service_s,class
${Array.from({ length: 400 }, (_, i) => `${(i * 1.37).toFixed(3)},${(2 + (i % 7) * 1.3).toFixed(2)},${i % 3 ? "a" : "b"}`).join("\n")}
`;

const server = await serve();
const browser = await start();

// visit opens the page, ready for a simulation.
async function visit(options = {}, at = server) {
  const opened = await open(browser, options);
  opened.page.setDefaultTimeout(120_000); // the machine may do other work at the same time
  opened.requests = [];
  opened.page.on("request", (r) => opened.requests.push(r.url()));
  await opened.page.goto(at.address);
  await opened.page.getByRole("button", { name: "Simulate" }).waitFor();
  return opened;
}
const simulate = async (page) => {
  await page.getByRole("button", { name: "Simulate" }).click();
  await page.locator("#compared").waitFor();
};
const done = (page) => page.getByRole("button", { name: "Simulate" }).waitFor();

await inTurn("playground", {
  "the same request gives the same bytes in WebAssembly as in a native program": async () => {
    const listed = native({ list: true });
    assert.equal((await simulated({ list: true })).reply, listed);
    const of = (name) => JSON.parse(listed).traces.find((t) => t.name === name).configuration;
    const requests = [
      [{ trace: "burst-25s", configuration: of("burst-25s"), set: ["max=20"], others: ["keda", "kpa"], bound: true }],
      [{ trace: "spike:duration=1h", configuration: of("spikes-300"), policy: "exact", others: ["aws-dynamic", "aws-step"] }],
      [{ trace: "heavytail:duration=20m", configuration: configuration(60), policy: "worker-utilization" }],
      [{ trace: "mmpp:duration=20m,quiet=5m", configuration: configuration(40), bound_only: true }],
      [{ trace: "tree:roots=2,most=300", configuration: configuration(30), policy: "exact" }],
      [{ file: "jobs.csv", configuration: configuration(9), policy: "dynamic-backlog" }, Buffer.from(csv)],
      [{ file: "jobs.csv.gz", configuration: configuration(9) }, gzipSync(csv)],
      [
        { file: "c.csv", service: "4s", service_cv: 0.5, spread: "poisson", configuration: configuration(9) },
        Buffer.from("interval_s,count\n60,40\n60,0\n60,90\n"),
      ],
    ];
    for (const [request, content] of requests) {
      const expected = native(request, content);
      assert.ok(JSON.parse(expected).found, expected.slice(0, 300));
      const { reply } = await simulated(request, content ? new Uint8Array(content) : null);
      assert.equal(reply, expected, `${request.trace ?? request.file}: WebAssembly has another answer`);
    }
  },
  "what cannot be simulated is said in words, without a crash": async () => {
    const good = configuration(5);
    const wrong = [
      [{ trace: "burst-25", configuration: good }, null, /burst/],
      [{ trace: "steady:rate=200,duration=1h,cv=0", configuration: good }, null, /more than 500000 messages/],
      [{ trace: "steady:rate=0.001,duration=2000h", configuration: good }, null, /later than 1440h/],
      [{ trace: "burst-25s", configuration: good.replace("max: 5", "max: -5") }, null, /max/],
      [{ trace: "burst-25s", configuration: "" }, null, /configuration/],
      [{ trace: "burst-25s", configuration: good, set: ["polcy.scale=2"] }, null, /polcy/],
      [{ trace: "burst-25s", configuration: configuration(5, "    auto_scaling_group: {name: web}\n") }, null, /auto_scaling_group|key/],
      [{ file: "jobs.csv", configuration: good }, Buffer.from("arrival_s,service_s\n1,2\n0,1\n"), /jobs.csv:3/],
      [{ file: "jobs.csv.gz", configuration: good }, gzipSync(csv).subarray(0, 900), /gzip|ends too early/],
      [{ file: "jobs.zip", configuration: good }, Buffer.from("PK\x03\x04rest"), /zip archive/],
      [{ file: "none.csv", configuration: good }, Buffer.alloc(0), /none.csv/],
      [{ file: "c.csv", configuration: good }, Buffer.from("interval_s,count\n60,40\n"), /service/],
      [{ colour: "red" }, null, /colour/],
    ];
    for (const [request, content, says] of wrong) {
      const { error } = JSON.parse((await simulated(request, content && new Uint8Array(content))).reply);
      assert.match(error ?? "", says);
    }
  },
  "progress rises to the end": async () => {
    const { shares } = await simulated({ trace: "poisson:rate=2,duration=80m", configuration: configuration(50) });
    assert.ok(shares.length > 1 && shares.at(-1) === 1, shares.join());
    assert.ok(shares.every((s, i) => i === 0 || s >= shares[i - 1]), shares.join());
  },
  "the compressed simulator has less than 5 MB": () => {
    const { size } = statSync(join(dir, fileOf(".wasm.gz")));
    assert.ok(size < 5_000_000, `${size} bytes`);
  },
  "a built-in trace is simulated, and the page is clean and accessible, wide in light and narrow in dark": async () => {
    for (const [i, [width, height]] of sizes.entries()) {
      const scheme = schemes[i % schemes.length];
      const where = `at ${width} px, ${scheme}`;
      const opened = await visit({ width, height, scheme });
      const { page } = opened;
      await accessible(page, `before, ${where}`);
      await page.getByRole("combobox", { name: "Trace" }).selectOption("burst-25s");
      await simulate(page);
      await page.getByText("(lower bound)").waitFor();
      await done(page);
      assert.ok((await page.locator("tbody tr").count()) >= 5);
      assert.equal(await page.locator(".plot canvas").count(), 2);
      assert.match(await page.locator("pre").innerText(), /max: 20/);
      await clean(opened, where);
      await upright(page, where);
      await accessible(page, where);
      await picture(page, `playground-${width}-${scheme}`);
      for (const url of opened.requests) assert.ok(url.startsWith(server.address), `a request to ${url}`);
      await opened.context.close();
    }
  },
  "a file is chosen or dropped, and faults are shown with their line": async () => {
    const opened = await visit();
    const { page } = opened;
    await page.getByLabel("the lower bound").uncheck();
    await page.locator("input[type=file]").setInputFiles({ name: "jobs.csv", mimeType: "text/csv", buffer: Buffer.from(csv) });
    await page.getByLabel("Changed keys of the fleet").fill("max: 3");
    await simulate(page);
    await page.getByText("400 messages").waitFor();
    await done(page);
    const drop = async (name, text) => {
      const data = await page.evaluateHandle(
        ([n, t]) => {
          const d = new DataTransfer();
          d.items.add(new File([t], n));
          return d;
        },
        [name, text],
      );
      await page.dispatchEvent("form", "drop", { dataTransfer: data });
    };
    await drop('<img src=x onerror="window.hacked=1">.csv', "arrival_s,service_s\n5,1\nno,1\n");
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.getByRole("alert").getByText(".csv:3").waitFor();
    await accessible(page, "a fault");
    await clean(opened, "a fault");
    await page.getByRole("textbox", { name: "Configuration" }).fill(configuration(-5));
    await page.getByRole("button", { name: "Simulate" }).click();
    await page.getByRole("alert").getByText("6 |").waitFor();
    await accessible(page, "a fault of the configuration");
    await page.getByRole("textbox", { name: "Configuration" }).fill(configuration(5));
    await drop("fine.csv", "arrival_s,service_s\n0,5\n9,5\n");
    await simulate(page);
    await page.getByText("2 messages").waitFor();
    assert.equal(await page.getByRole("alert").count(), 0);
    await opened.context.close();
  },
  "a long simulation is cancelled at once, and the next one runs": async () => {
    const { page, context } = await visit();
    await page.getByRole("combobox", { name: "Trace" }).selectOption("generator");
    await page.getByRole("textbox", { name: "Generator" }).fill("poisson:rate=20,duration=6h,service=10s");
    await page.getByRole("textbox", { name: "Configuration" }).fill(configuration(2000));
    await page.getByLabel("Changed keys of the fleet").fill("");
    await page.getByRole("button", { name: "Simulate" }).click();
    await within(120, "some progress", () => page.evaluate(() => document.querySelector("progress")?.value > 0));
    await page.getByRole("button", { name: "Cancel" }).click();
    await done(page);
    assert.equal(await page.getByRole("alert").count(), 0);
    assert.equal(await page.locator("#compared").count(), 0);
    await page.getByRole("combobox", { name: "Trace" }).selectOption("burst-25s");
    await simulate(page);
    await context.close();
  },
  "a server that declares the compression works as well, and a missing simulator is said": async () => {
    const at = await serve(true);
    const opened = await visit({}, at);
    await clean(opened, "encoded");
    await opened.page.route("**/*.wasm.gz", (route) => route.fulfill({ status: 404, body: "" }));
    await opened.page.reload();
    await opened.page.getByRole("alert").getByText("404").waitFor();
    await opened.page.unroute("**/*.wasm.gz");
    await opened.page.getByRole("button", { name: "Try again" }).click();
    await opened.page.getByRole("button", { name: "Simulate" }).waitFor();
    await opened.context.close();
    at.close();
  },
});
await browser.close();
server.close();
rmSync(work, { recursive: true, force: true });
