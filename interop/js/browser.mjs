// Opens pages in a real browser, and notes everything that must not happen there: errors, texts that became elements,
// and what the content security policy refused.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { assert } from "./checks.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** sizes and schemes are those in which every page is looked at. */
export const sizes = [
  [1280, 900],
  [390, 844],
];
export const schemes = ["light", "dark"];

/** start opens Debian's browser. It runs without its own sandbox, because tests may run as root. */
export const start = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });

/** open returns a page of a browser of its own. troubles lists what went wrong in it. */
export async function open(browser, { width = 1280, height = 900, scheme = "light", ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, ...more });
  const page = await context.newPage();
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(`error: ${error.stack}`));
  page.on("console", (message) => {
    // The browser reports refused content as errors, and requests that failed, which some rules cause.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) troubles.push(message.text());
  });
  await page.addInitScript(() => {
    window.refused = [];
    document.addEventListener("securitypolicyviolation", (e) =>
      window.refused.push(`${e.violatedDirective} ${e.blockedURI}`),
    );
  });
  return { context, page, troubles };
}

/** clean fails if the page ran or drew anything that it must not. */
export async function clean({ page, troubles }, where) {
  const found = await page.evaluate(() => ({
    refused: window.refused,
    hacked: window.hacked,
    elements: document.querySelectorAll("img, #app script, #app iframe, [onerror]").length,
  }));
  assert.deepEqual(troubles, [], `${where}: the browser reported errors`);
  assert.deepEqual(found.refused, [], `${where}: the content security policy refused something`);
  assert.equal(found.hacked, undefined, `${where}: a text was run`);
  assert.equal(found.elements, 0, `${where}: a text became an element`);
}

/** accessible fails for every rule of axe-core that the page breaks, with the element. */
export async function accessible(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const broken = found.violations.map(
    (v) =>
      `${v.id} (${v.help}): ${v.nodes
        .slice(0, 3)
        .map((n) => n.html.slice(0, 160) + " " + n.any.map((a) => a.message).join("; "))
        .join(" | ")}`,
  );
  assert.deepEqual(broken, [], `${where}: not accessible`);
}

/** upright fails if the page is wider than the screen. */
export async function upright(page, where) {
  const [wide, screen] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  assert.ok(wide <= screen, `${where}: ${wide} pixels wide on a screen of ${screen}`);
}

/** picture keeps a screenshot below the directory SHOTS, if that is set. */
export async function picture(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

/** inTurn tries every rule, one after the other, and prints a line for each. */
export async function inTurn(suite, rules) {
  for (const [sentence, rule] of Object.entries(rules)) {
    try {
      await rule();
      console.log(`ok   ${suite}: ${sentence}`);
    } catch (error) {
      process.exitCode = 1;
      console.error(error);
      console.log(
        `FAIL ${suite}: ${sentence}: ${`${error.name}: ${error.message}`.replace(/\s+/g, " ").slice(0, 1500)}`,
      );
    }
  }
}
