import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bootstrap, runTypeScript } from "./bootstrap.mjs";
import { nodeBinary, NEWER_NODES } from "./nodeBinary.mjs";
import { pack } from "./pack.mjs";

// Packs the packages as they would be published and uses them as applications do: as CommonJS and as ES modules, type-checked
// under every resolution, in Jest, bundled, in Next.js, with Yarn PnP and with Bun. `pnpm consumers esbuild next` runs those
// alone. The packages must be built.
bootstrap({ quiet: true });
const tarballs = mkdtempSync(join(tmpdir(), "stratigraph-tarballs-"));
process.once("exit", () => rmSync(tarballs, { recursive: true, force: true }));
await pack(tarballs, ["stratigraph", "workspace", "cli"]);
const nodes = NEWER_NODES.map(nodeBinary).filter((node) => node !== undefined);
process.exitCode = await runTypeScript("test/consumers/main.ts", process.argv.slice(2), {
  env: { STRATIGRAPH_TARBALLS: tarballs, STRATIGRAPH_NODES: nodes.join(":") },
  timeoutMs: 25 * 60_000,
});
