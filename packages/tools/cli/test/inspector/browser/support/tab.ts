import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { sharedChromium } from "../../../../../../../test/servers/shared.ts";

/** How a tab is opened. */
export interface TabOptions extends Pick<BrowserContextOptions, "viewport" | "colorScheme" | "permissions"> {
  /** Problems that the test is about, which don't fail it: a part of what is told of them. */
  readonly expected?: readonly RegExp[];
}

let connecting: Promise<Browser> | undefined;

/** The Chromium that all test files share, by one connection of this process. */
async function connected(): Promise<Browser> {
  connecting ??= sharedChromium().then((url) => chromium.connectOverCDP(url));
  return await connecting;
}

/** Milliseconds that a page has to show something. Runs of all tests keep both cores busy. */
const patienceMs = 30_000;

/**
 * Opens an address in a tab whose storage no other has. The test fails at its end if the page told of an error, broke its own
 * content policy, asked another server for something, opened a dialog of the browser, or ran a script of a stored value.
 */
export async function openTab(address: string, options: TabOptions = {}): Promise<Page> {
  const { expected = [], viewport = { width: 1280, height: 800 }, ...others } = options;
  const context = await (await connected()).newContext({ viewport, ...others });
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  const problems: string[] = [];
  const origin = new URL(address).origin;
  context.on("page", (opened) => watch(opened, origin, problems));
  watch(page, origin, problems);
  onTestFinished(async () => {
    const pwned = await Promise.all(
      context.pages().map((each) => each.evaluate(() => "pwned" in globalThis)),
    );
    if (pwned.includes(true)) problems.push("a stored value ran as a script");
    await context.close();
    expect(problems.filter((problem) => !expected.some((one) => one.test(problem)))).toEqual([]);
  });
  await page.goto(address);
  return page;
}

/** Another tab of the same browser profile. */
export async function openBeside(page: Page, address: string): Promise<Page> {
  const other = await page.context().newPage();
  await other.goto(address);
  return other;
}

function watch(page: Page, origin: string, problems: string[]): void {
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => problems.push(`thrown: ${error.stack ?? error.message}`));
  page.on("dialog", (dialog) => {
    problems.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const { protocol, origin: asked, pathname } = new URL(request.url());
    if (protocol !== "data:" && protocol !== "blob:" && asked !== origin)
      problems.push(`request: ${request.url()}`);
    if (pathname.startsWith("/pwned")) problems.push(`request: ${request.url()}`);
  });
}
