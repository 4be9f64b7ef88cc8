import { Annotation, START, StateGraph, interrupt, type BaseCheckpointSaver } from "@langchain/langgraph";
import { postgres } from "@stratigraph/postgres";
import { redis } from "@stratigraph/redis";
import { TieredSaver } from "@stratigraph/tiered";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";

const State = Annotation.Root({ text: Annotation<string>, asked: Annotation<string> });

/** A graph with a node that works, one that fails on demand, and one that asks a person. */
export function agent(checkpointer: BaseCheckpointSaver) {
  return new StateGraph(State)
    .addNode("write", ({ text }) => {
      if (text === "fail") throw new TypeError("no such text");
      return { text: `${text} ${"and so on ".repeat(200)}` };
    })
    .addNode("ask", () => ({ asked: interrupt("May I?") as string }))
    .addEdge(START, "write")
    .addEdge("write", "ask")
    .compile({ checkpointer });
}

/** A stack of real servers. */
export async function openStack(): Promise<{ open(): TieredSaver; close(): Promise<void> }> {
  const [database, place] = await Promise.all([freshDatabase(), sharedRedis()]);
  const savers: TieredSaver[] = [];
  const open = (): TieredSaver => {
    const saver = new TieredSaver({
      hot: redis({ ...place, ttl: "5m" }),
      warm: postgres({ url: database.url }),
    });
    savers.push(saver);
    return saver;
  };
  await open().setup();
  const close = async (): Promise<void> => {
    await Promise.all(savers.map((saver) => saver.end()));
    await database.drop();
  };
  return { open, close };
}

/** Names of the series in Prometheus' text format, with the names of their labels. */
export function seriesIn(text: string): Set<string> {
  const found = new Set<string>();
  for (const line of text.split("\n")) {
    const [, name, labels = ""] = /^([a-z_0-9]+)(?:\{(.*)\})? /.exec(line) ?? [];
    if (name === undefined || /^(target_info|otel_scope_info)/.test(name)) continue;
    const names = [...labels.matchAll(/([a-z_0-9]+)="((?:[^"\\]|\\.)*)"/g)]
      // OpenTelemetry leaves an attribute out where Prometheus has an empty label: that is the same series.
      .filter(([, label, value]) => value !== "" && label !== "le" && !label!.startsWith("otel_scope"))
      .map(([, label]) => label!);
    found.add(`${name}{${names.toSorted().join()}}`);
  }
  return found;
}
