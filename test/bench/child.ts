import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** Our packages as they are in this checkout, or as they are published: built. */
export type Packages = "source" | "built";

/**
 * Runs the export `job` of `file` with `input` in a fresh Node process with `--expose-gc`, so that one
 * measurement neither warms nor fills the heap of the next. Rejects where the job throws.
 */
export function inChild<Result>(file: URL, input: unknown, packages: Packages = "source"): Promise<Result> {
  return new Promise((resolve, reject) => {
    const conditions = packages === "source" ? ["--conditions=@stratigraph/source"] : [];
    const flags = ["--expose-gc", "--import", "tsx", ...conditions];
    const child = spawn(process.execPath, [...flags, WORKER, file.href, JSON.stringify(input)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    let result: { value: Result } | undefined;
    child.on("message", (message) => (result = message as { value: Result }));
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      if (result !== undefined && code === 0) resolve(result.value);
      else reject(new Error(`${file.pathname} ended with ${signal ?? code} and no result`));
    });
  });
}
