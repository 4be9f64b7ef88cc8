import type { LoadedConfig } from "stratigraph";
import type { Context } from "../operations/index.ts";
import type { ServedOptions } from "../serving/options.ts";
import type { Settings } from "./settings.ts";
import { storageName } from "./storageText.ts";
import type { Terminal } from "./terminal.ts";

/** What a server of this command line shows. */
export function servedOf(
  { saver, graph, redact, sign, cwd }: Context,
  config: LoadedConfig,
  { verbose }: Settings,
  { stderr }: Terminal,
): ServedOptions {
  return {
    saver,
    graph,
    graphs: Object.keys(config.graphs),
    redact,
    sign,
    cwd,
    storage: storageName(config),
    origin: config.origin,
    onError: (error) => {
      if (verbose === true) stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
    },
  };
}
