import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

/**
 * Runs the export `job` of `file` with `input` in a fresh Node process with `--expose-gc`, so that one
 * measurement neither warms nor fills the heap of the next. Rejects where the job throws.
 */
export function inChild<Result>(file: URL, input: unknown): Promise<Result> {
  return new Promise((resolve, reject) => {
    const flags = ["--expose-gc", "--import", "tsx", "--conditions=@stratigraph/source"];
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
