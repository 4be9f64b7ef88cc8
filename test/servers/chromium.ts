import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { onPath, ServerFolder, ServerProcess } from "./process.ts";

export interface Chromium {
  /** For Playwright's `connectOverCDP`. */
  url: string;
  pid: number;
  stop(): Promise<void>;
}

// The command of that name is a script that starts it as its child, which would outlive the script when it is ended.
const HEADLESS = "/usr/lib/chromium/chromium-headless-shell";

/** The browser that tests start: the one that STRATIGRAPH_TEST_CHROMIUM names, else Debian's without windows, else Debian's. */
export function chromiumBinary(): string | undefined {
  const named = process.env["STRATIGRAPH_TEST_CHROMIUM"];
  if (named !== undefined) return named;
  if (existsSync(HEADLESS)) return HEADLESS;
  return onPath("chromium") ? "chromium" : undefined;
}

/** Starts a Chromium without a window, whose profile is a temporary folder (about 0.3 s). It ends with this process at the latest. */
export async function startChromium(): Promise<Chromium> {
  const binary = chromiumBinary();
  if (binary === undefined)
    throw new Error("there is no Chromium: install it, or name one in STRATIGRAPH_TEST_CHROMIUM");
  const folder = new ServerFolder("chromium");
  const port = join(folder.dir, "DevToolsActivePort");
  const server = new ServerProcess(folder, "chromium", binary, [
    "--headless",
    `--user-data-dir=${folder.dir}`,
    // Chromium picks a free one, of 127.0.0.1, and writes it into the file above.
    "--remote-debugging-port=0",
    // Its sandbox refuses root, as which containers run. Only pages of these tests are opened.
    "--no-sandbox",
    // Containers often have a small /dev/shm.
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--no-default-browser-check",
    // Nothing leaves the machine: no updates, no field trials.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    // Pages that aren't in front behave as if they were: two tabs are watched at once.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
  ]);
  const stop = async () => {
    await server.end("SIGTERM");
    folder.remove();
  };
  try {
    let url = "";
    await server.up(async () => {
      if (!existsSync(port)) return false;
      url = `http://127.0.0.1:${readFileSync(port, "utf8").split("\n")[0]}`;
      return (await fetch(`${url}/json/version`)).ok;
    });
    return { url, pid: server.pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
