// Takes the pictures of the README from a running Muster.
//
//     node pictures.mjs MUSTER CONFIGURATION DIRECTORY
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { open, start } from "./browser.mjs";

const [muster, configuration, directory] = process.argv.slice(2);

const browser = await start();
const { page } = await open(browser, { width: 1200, height: 560 });
await page.goto(execFileSync(muster, ["dashboard", "-f", configuration], { encoding: "utf8" }).trim());
await page.waitForSelector("a.name");
await page.waitForFunction(() => document.querySelectorAll("svg.spark").length > 3);
const root = page.url().split("#")[0];

async function take(name, height) {
  const path = join(directory, name);
  await page.setViewportSize({ width: 1200, height });
  await page.waitForTimeout(1500);
  await page.screenshot({ path });
}

await take("dashboard.png", 630);
await page.goto(`${root}#/fleet/images`);
await page.waitForSelector(".plot canvas");
await page.emulateMedia({ colorScheme: "dark" });
await take("fleet.png", 1300);
await browser.close();
