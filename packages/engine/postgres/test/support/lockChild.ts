import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { StratigraphError } from "@stratigraph/core";
import { lockFolder, type FolderLock } from "../../src/connection/lockFolder.ts";

// Takes and lets go of a folder's lock again and again. Two at once would meet at the marker file.
const [folder, forMs] = process.argv.slice(2) as [string, string];
const marker = join(folder, "marker");
// Linked into place as a whole: a process killed between making a file and filling it would leave a marker that names nobody.
const mine = join(folder, `marker.${process.pid}`);
writeFileSync(mine, String(process.pid));

export type LockMessage =
  | { type: "held" }
  | { type: "violation"; by: number }
  | { type: "end"; held: number };

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const until = Date.now() + Number(forMs);
let held = 0;
while (Date.now() < until) {
  let lock: FolderLock;
  try {
    lock = lockFolder(folder);
  } catch (error) {
    if (!StratigraphError.is(error, "LOCKED")) throw error;
    await new Promise((resolve) => setTimeout(resolve, 1));
    continue;
  }
  held += 1;
  try {
    linkSync(mine, marker);
  } catch {
    const by = Number(readFileSync(marker, "utf8"));
    if (by !== process.pid && isAlive(by)) process.send?.({ type: "violation", by } satisfies LockMessage);
    rmSync(marker);
    linkSync(mine, marker);
  }
  process.send?.({ type: "held" } satisfies LockMessage);
  await new Promise((resolve) => setTimeout(resolve, 1));
  rmSync(marker, { force: true });
  lock.release();
}
process.send?.({ type: "end", held } satisfies LockMessage);
process.disconnect();
