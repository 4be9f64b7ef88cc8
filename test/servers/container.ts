import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * A Node for `runChild` that runs its program in a process namespace of its own, as a container does: its process ids say nothing outside.
 * @param folder for the script that starts it
 */
export function inContainer(folder: string): string {
  const script = join(folder, "node-in-a-container");
  writeFileSync(
    script,
    `#!/bin/sh\nexec unshare --pid --fork --kill-child --mount-proc ${process.execPath} "$@"\n`,
  );
  chmodSync(script, 0o755);
  return script;
}
