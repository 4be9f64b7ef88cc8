import { spawn } from "node:child_process";
import type { Terminal } from "./terminal.ts";

/** What opens a page, by platform. */
const openers: Partial<Readonly<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["explorer.exe"],
};

/** Opens a page in the user's browser. Where that fails, it says so, and nothing else happens. */
export function openBrowser(url: string, { stderr }: Terminal): void {
  const [program, ...args] = openers[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { detached: true, stdio: "ignore" });
  child.once("error", () =>
    stderr.write(`No browser was opened, as there is no ${program}: open the address yourself.\n`),
  );
  child.unref();
}
