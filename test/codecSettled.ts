import { afterAll } from "vitest";
import { loadZstd } from "../packages/engine/core/src/codec/loadZstd.ts";

// A saver begins its codec beside the work. If that is still being imported when a file of tests ends, vitest refuses the import, and
// remembers the refusal for every later file of the process.
afterAll(async () => void (await loadZstd()));
