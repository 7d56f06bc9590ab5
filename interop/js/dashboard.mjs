// The dashboard of a running Muster in a real browser: every page with live data, and every action.
//
//     node dashboard.mjs MUSTER CONFIGURATION PROCESS
//
// The configuration is that of begin in interop/run: a fleet that works, one whose work fails, and one at its maximum.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { assert, within } from "./checks.mjs";
import { accessible, clean, inTurn, open, picture, schemes, sizes, start, upright } from "./browser.mjs";

const [muster, configuration, process_] = process.argv.slice(2);
const canary = `"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>`;
const link = (...flags) =>
  execFileSync(muster, ["dashboard", "-f", configuration, ...flags], { encoding: "utf8" }).trim();
const token = readFileSync(join(dirname(configuration), "data", "api-token"), "utf8").trim();
const origin = new URL(link()).origin;

// api asks the API without a browser.
async function api(method, path, body) {
  const answer = await fetch(`${origin}/v1/${path}`, { method, body, headers: { Authorization: `Bearer ${token}` } });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text ? JSON.parse(text) : null;
}
const send = (queue, messages) =>
  api("POST", `queues/${queue}/messages`, messages.map((m) => `${JSON.stringify(m)}\n`).join(""));
const exists = async (path) =>
  (await fetch(`${origin}/v1/${path}`, { method: "POST", body: "{}", headers: { Authorization: `Bearer ${token}` } }))
    .status !== 404;
const row = async (name) => (await api("GET", "board")).fleets.find((f) => f.name === name);

const browser = await start();
async function login(options, ...flags) {
  const opened = await open(browser, options);
  await opened.page.goto(link(...flags));
  await opened.page.waitForSelector("a.name");
  return { ...opened, root: opened.page.url().split("#")[0] };
}
async function show({ page, root }, route) {
  await page.goto(`${root}#/${route}`);
  await page.waitForFunction(() => !document.querySelector("main")?.innerText.includes("Reading "));
}

await send(
  "jobs",
  Array.from({ length: 40 }, (_, i) => ({ body: `job ${i} ${canary}` })),
);
await send(
  "broken",
  Array.from({ length: 6 }, () => ({ body: canary })),
);
await send(
  "slow",
  Array.from({ length: 30 }, () => ({ body: "x" })),
);
await within(20, "failed attempts", async () => (await row("broken")).state === "failing");
await within(20, "a breach", async () => (await row("slow")).at_max);

await inTurn("dashboard", {
  "a printed link logs in once, and every page is clean and accessible, wide and narrow, light and dark": async () => {
    const routes = {
      fleets: "fleets",
      jobs: "fleet/jobs",
      broken: "fleet/broken",
      slow: "fleet/slow",
      decisions: "decisions/jobs",
      latest: "decisions",
      queues: "queues/broken",
      incidents: "incidents",
      "what-if": "whatif/jobs",
      configuration: "configuration",
    };
    for (const [width, height] of sizes) {
      for (const scheme of schemes) {
        const opened = await login({ width, height, scheme });
        for (const [name, route] of Object.entries(routes)) {
          await show(opened, route);
          if (route.startsWith("fleet/")) await opened.page.waitForSelector(".plot canvas");
          await clean(opened, `${name} at ${width} px, ${scheme}`);
          await upright(opened.page, `${name} at ${width} px`);
          await accessible(opened.page, `${name} at ${width} px, ${scheme}`);
          await picture(opened.page, `live-${name}-${width}-${scheme}`);
        }
        await opened.context.close();
      }
    }
  },
  "a used link opens nothing": async () => {
    const once = link();
    const first = await open(browser);
    await first.page.goto(once);
    await first.page.waitForSelector("a.name");
    const second = await open(browser);
    await second.page.goto(once);
    await second.page.getByRole("heading", { name: "Open the dashboard with a link" }).waitFor();
    for (const { context } of [first, second]) await context.close();
  },
  "a link that is opened twice keeps its session, and a refusal does not outlast the next login": async () => {
    const once = link();
    const { page, context } = await open(browser);
    await page.goto(once);
    await page.waitForSelector("a.name");
    await page.goto(once);
    await page.waitForSelector("a.name");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Open the dashboard with a link" }).waitFor();
    await page.goto(once);
    await page.getByText("the login link is wrong").waitFor();
    await page.goto(link());
    await page.waitForSelector("a.name");
    assert.equal(await page.getByText("the login link is wrong").count(), 0);
    await context.close();
  },
  "a logout that fails leaves a page that goes on": async () => {
    const { page, context, root } = await login();
    await page.route("**/v1/session", (route) => route.abort());
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByText("You are still logged in.").waitFor();
    await Promise.all([page.waitForRequest(/v1\/stream\?fleet=jobs/), page.goto(`${root}#/fleet/jobs`)]);
    await page.unroute("**/v1/session");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.getByRole("heading", { name: "Open the dashboard with a link" }).waitFor();
    assert.equal(await page.getByText("You are still logged in.").count(), 0);
    await context.close();
  },
  "numbers move without a reload": async () => {
    const opened = await login();
    await show(opened, "fleets");
    await opened.page.evaluate(() => (window.same = true));
    await send(
      "jobs",
      Array.from({ length: 25 }, () => ({ body: "more" })),
    );
    const cell = opened.page.locator(".row", { hasText: "jobs" }).locator('[data-label="Backlog"]');
    await within(20, "a backlog on the page", async () => Number(await cell.innerText()) > 0);
    await within(60, "an empty backlog on the page", async () => Number(await cell.innerText()) === 0);
    assert.equal(await opened.page.evaluate(() => window.same), true, "the page was loaded again");
    await opened.context.close();
  },
  "a fleet shows its workers, their logs, failed attempts and a decision with its inputs": async () => {
    const opened = await login();
    const { page } = opened;
    await show(opened, "fleet/broken");
    await page.getByRole("heading", { name: "Failed attempts" }).waitFor();
    await page
      .getByRole("button", { name: /^Show the log of/ })
      .first()
      .click();
    await page.locator(".log li").first().waitFor();
    await page.getByText("window.hacked=1").first().waitFor();
    await clean(opened, "the log of a worker");
    await page.getByRole("button", { name: "All inputs" }).click();
    await page.getByRole("dialog").getByRole("heading", { name: "Inputs" }).waitFor();
    const permalink = await page.getByRole("link", { name: "Permalink" }).getAttribute("href");
    await page.goto(`${opened.root}${permalink}`);
    await page.reload();
    await page.getByRole("heading", { name: "Explained" }).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as JSON" }).click(),
    ]);
    assert.equal(JSON.parse(readFileSync(await file.path(), "utf8")).record.decision.fleet, "broken");
    await opened.context.close();
  },
  "decisions are filtered by the address, and exported": async () => {
    const opened = await login();
    const { page } = opened;
    await show(opened, "decisions/jobs?changes=1");
    await page.locator("tbody tr").first().waitFor();
    assert.ok(await page.getByLabel("changes of size only").isChecked());
    const sizes_ = await page.locator('td[data-label="Workers"]').allInnerTexts();
    assert.ok(
      sizes_.every((t) => t.includes("→")),
      sizes_.join(),
    );
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Export as JSON" }).click(),
    ]);
    assert.match(readFileSync(await file.path(), "utf8"), /"fleet": "jobs"/);
    await opened.context.close();
  },
  "messages are sent, read, redriven and purged": async () => {
    const opened = await login();
    const { page } = opened;
    await show(opened, "queues/parked");
    await page.getByRole("button", { name: "Send parked", exact: true }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Body").fill(canary);
    await dialog.getByRole("button", { name: "Send" }).click();
    await dialog.waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Read again" }).click();
    await page.locator("details.message summary").first().click();
    await page.locator("details.message pre").first().getByText("window.hacked=1").waitFor();
    await clean(opened, "a message");
    await page.getByRole("button", { name: "Purge parked", exact: true }).click();
    await dialog.getByLabel("Name of the queue").fill("parked");
    await dialog.getByRole("button", { name: "Purge" }).click();
    await dialog.waitFor({ state: "hidden" });
    assert.equal((await api("GET", "queues")).counts.parked.visible, 0);
    await page.getByRole("button", { name: "Redrive broken-dead", exact: true }).click();
    await dialog.getByRole("button", { name: "Redrive" }).click();
    await dialog.waitFor({ state: "hidden" });
    assert.equal((await api("GET", "queues/broken-dead/moves")).moves.length, 1);
    await opened.context.close();
  },
  "a session that may only read offers no action, and changes nothing": async () => {
    const opened = await login({}, "--read-only");
    const { page } = opened;
    await show(opened, "fleet/jobs");
    await page.getByText("This session may only read.").waitFor();
    assert.equal(await page.getByRole("button", { name: "Pause", exact: true }).count(), 0);
    assert.equal(await page.getByRole("button", { name: /^Release / }).count(), 0);
    const status = await page.evaluate(async () => (await fetch("v1/queues/parked/purge", { method: "POST" })).status);
    assert.equal(status, 403);
    await opened.context.close();
  },
  "a cookie without the write token changes nothing": async () => {
    const { page, context } = await login();
    const status = await page.evaluate(async () => (await fetch("v1/queues/parked/purge", { method: "POST" })).status);
    assert.equal(status, 403);
    await context.close();
  },
  "a refused change of the configuration is shown": async () => {
    const opened = await login();
    const before = readFileSync(configuration, "utf8");
    writeFileSync(configuration, before.replace("max: 4", "max: -4"));
    process.kill(Number(process_), "SIGHUP");
    await within(20, "a refusal", async () => (await api("GET", "configuration")).last_reload?.ok === false);
    writeFileSync(configuration, before);
    await show(opened, "configuration");
    await opened.page.locator(".notice", { hasText: "was refused" }).waitFor();
    await accessible(opened.page, "a refused change");
    await opened.context.close();
  },
  "a reload is listed with the values that it changed, and with those that wait for the next start": async () => {
    const opened = await login();
    const before = readFileSync(configuration, "utf8");
    const reload = async (text, values) => {
      writeFileSync(configuration, text); // a change is noticed without a signal
      await within(20, `a reload of ${values} values`, async () => {
        const last = (await api("GET", "configuration")).reloads[0];
        return last?.ok && last.changes.length === values;
      });
    };
    try {
      await reload(before.replace("max: 4", "max: 3").replace("peek: true", "peek: false"), 2);
      await show(opened, "configuration");
      const { page } = opened;
      await page.getByRole("heading", { name: "Waiting for the next start" }).waitFor();
      const waits = await page.getByRole("region", { name: "Values that wait" }).innerText();
      assert.match(waits, /dashboard\.peek\s+true\s+false/);
      await page.locator("summary", { hasText: "changed 2 values" }).click();
      await page.getByRole("row", { name: /fleets\[jobs\]\.max 4 3/ }).waitFor();
      await page.locator("summary", { hasText: "was refused" }).first().click();
      await page.getByText("found -4", { exact: false }).first().waitFor();
      await clean(opened, "reloads");
      await accessible(page, "reloads");
      await picture(page, "live-reloads");
    } finally {
      writeFileSync(configuration, before); // the rules that follow need it
    }
    await reload(before, 2);
    await opened.context.close();
  },
  ...((await exists("fleets/jobs/overrides")) && {
    "pause, limits, reservations and holds show their plan, act, and end": async () => {
      const opened = await login();
      const { page } = opened;
      await show(opened, "fleet/jobs");
      const dialog = page.getByRole("dialog");
      const carryOut = async () => {
        await dialog.getByRole("button", { name: "Show the plan" }).click();
        await dialog.getByText("Plan", { exact: true }).waitFor();
        await dialog.getByRole("button", { name: "Do it" }).click();
        await dialog.waitFor({ state: "hidden" });
      };
      for (const [button, fill] of [
        ["Reserve", { Workers: "1" }], // before the pause, which would keep its workers from being launched
        ["Pause", {}],
        ["Limits", { Maximum: "3" }],
        ["Hold scale-in", {}],
      ]) {
        await page.getByRole("button", { name: button, exact: true }).click();
        for (const [label, value] of Object.entries(fill)) await dialog.getByLabel(label).fill(value);
        await dialog.getByLabel("Reason").fill(`test ${canary}`);
        await carryOut();
      }
      const kinds = (await api("GET", "fleets/jobs/overrides")).overrides.map((o) => o.kind).sort();
      assert.deepEqual(kinds, ["hold-scale-in", "limits", "pause", "reserve"]);
      await within(10, "the reasons on the page", async () => (await page.getByText("window.hacked=1").count()) >= 4);
      await clean(opened, "overrides");
      await accessible(page, "a fleet with overrides");
      await page.getByRole("button", { name: "Resume" }).click();
      await carryOut();
      for (let left = 3; left > 0; left--) {
        await within(
          15,
          `${left} overrides on the page`,
          async () => (await page.getByRole("button", { name: "End it now" }).count()) === left,
        );
        await page.getByRole("button", { name: "End it now" }).first().click();
        await carryOut();
      }
      assert.deepEqual((await api("GET", "fleets/jobs/overrides")).overrides ?? [], []);
      await opened.context.close();
    },
  }),
  "a worker is released: it finishes and goes, and another one replaces it": async () => {
    const opened = await login();
    const { page } = opened;
    await show(opened, "fleet/broken");
    const release = page.getByRole("button", { name: /^Release / });
    const name = (await release.first().getAttribute("aria-label")).replace("Release ", "");
    await release.first().click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("It takes no more messages").waitFor();
    await dialog.getByRole("button", { name: "Show the plan" }).click();
    await dialog.getByText("State a reason").waitFor();
    await dialog.getByLabel("Reason").fill(canary);
    await dialog.getByRole("button", { name: "Show the plan" }).click();
    await dialog.getByText(/Would stop (1 idle worker, 0 busy|0 idle workers, 1 busy)/).waitFor();
    await accessible(page, "the release of a worker");
    await dialog.getByRole("button", { name: "Release" }).click();
    await dialog.waitFor({ state: "hidden" });
    const members = async () => (await api("GET", "fleets/broken")).status.members;
    await within(20, "an end of the worker", async () => !(await members()).some((m) => m.id === name));
    await within(20, "another worker", async () => (await members()).some((m) => ["idle", "busy"].includes(m.state)));
    await page.getByRole("button", { name: `Release ${name}`, exact: true }).waitFor({ state: "detached" });
    await clean(opened, "a released worker");
    await opened.context.close();
  },
  ...((await exists("whatif")) && {
    "a simulation of the recorded hour is shown with its configuration": async () => {
      const opened = await login();
      const { page } = opened;
      await show(opened, "whatif/jobs");
      await page.getByLabel("Window").fill("1h");
      await page.getByRole("button", { name: "Simulate" }).click();
      await page.waitForSelector("#compared");
      assert.ok((await page.locator("tbody tr").count()) > 1);
      await clean(opened, "what if");
      await accessible(page, "what if");
      await picture(page, "live-simulated");
      await opened.context.close();
    },
  }),
  "who logs out can read no more": async () => {
    const opened = await login();
    await opened.page.getByRole("button", { name: "Log out" }).click();
    await opened.page.getByRole("heading", { name: "Open the dashboard with a link" }).waitFor();
    const status = await opened.page.evaluate(async () => (await fetch("v1/board")).status);
    assert.equal(status, 401, "the session still reads");
    await opened.context.close();
  },
});
await browser.close();
