import { execFileSync } from "node:child_process";
import { cpSync, existsSync } from "node:fs";
import { join } from "node:path";
import { root } from "./bootstrap.mjs";

/** Copies all that git knows or would add, as it is now, into a folder. */
export function copyRepository(folder) {
  const files = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  for (const file of new Set(files.split("\0").filter((name) => name !== ""))) {
    // A file that was deleted and not yet committed is still listed.
    if (existsSync(join(root, file)))
      cpSync(join(root, file), join(folder, file), { verbatimSymlinks: true });
  }
  execFileSync(process.execPath, [join(folder, "test/run/embed.mjs")]);
}
