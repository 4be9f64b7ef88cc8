import type { TierSaver } from "@stratigraph/core";
import { inspect, type InspectOptions, type RunningInspector } from "../../../../src/inspector/index.ts";
import { onTestFinished } from "vitest";
import { sharedPage } from "../../../../../../../test/servers/shared.ts";
import { graphsOn } from "../../seeds/graphs.ts";

export interface Inspecting extends RunningInspector {
  /** The address of a view, with the token: "/t/ada". */
  at(path: string): string;
}

/** What is given in a test, beside the storage. */
type Given = Partial<Omit<InspectOptions, "saver">>;

/** Serves the page over a storage with the graphs of the seeds, until the test ends. It only reads, unless `allow` says more. */
export async function inspecting(saver: TierSaver, given: Given = {}): Promise<Inspecting> {
  const graphs = graphsOn(saver);
  const running = await inspect({
    saver,
    pageFolder: await sharedPage(),
    graphs: Object.keys(graphs),
    graph: async (name = "trip") => {
      const graph = graphs[name as keyof typeof graphs];
      if (graph === undefined) throw new Error(`the tests have no graph ${name}`);
      return graph as never;
    },
    storage: "postgresql://localhost/agents",
    origin: "stratigraph.config.ts",
    pollMs: 100,
    onError: (error) => process.stderr.write(`${(error as Error).stack ?? String(error)}\n`),
    ...given,
  });
  onTestFinished(() => running.close());
  return { ...running, at: (path) => addressOf(running.url, path) };
}

/** An address of the page with its token, which stands behind the path. */
export function addressOf(url: string, path: string): string {
  const { origin, hash } = new URL(url);
  return `${origin}${path}${hash}`;
}
