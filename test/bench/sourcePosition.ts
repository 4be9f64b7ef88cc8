import { existsSync, readFileSync } from "node:fs";
import type { Profiler } from "node:inspector";
import { SourceMap, type SourceMapPayload } from "node:module";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Position } from "./profileSummary.ts";

const maps = new Map<string, SourceMap | undefined>();

/** Where a function of a profile stands: in its source, where a source map lies beside the built file. */
export function sourcePosition({
  url,
  lineNumber,
  columnNumber,
}: Profiler.ProfileNode["callFrame"]): Position {
  const file = url.startsWith("file:") ? fileURLToPath(url) : url;
  const built = { file, line: lineNumber };
  const entry = mapOf(file)?.findEntry(lineNumber, columnNumber);
  if (entry === undefined || !("originalSource" in entry)) return built;
  return { file: resolve(file, "..", entry.originalSource), line: entry.originalLine };
}

/** Our builds have maps; those of installed packages name sources that aren't installed. */
function mapOf(file: string): SourceMap | undefined {
  if (!file.includes("/packages/") || file.includes("/node_modules/")) return undefined;
  if (!maps.has(file)) {
    const map = `${file}.map`;
    maps.set(
      file,
      existsSync(map) ? new SourceMap(JSON.parse(readFileSync(map, "utf8")) as SourceMapPayload) : undefined,
    );
  }
  return maps.get(file);
}
