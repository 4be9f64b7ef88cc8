import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { play } from "../../packages/tools/testing/src/differential/play.ts";
import { installedVersion } from "../../packages/tools/testing/src/installedVersion.ts";
import { type Place, openSavers } from "./openSavers.ts";
import { parts } from "./parts.ts";

// Runs in a copy of the repository with an older LangGraph: begins every thread, on our savers and on the official MemorySaver.

export interface Begun {
  readonly langgraph: string;
  readonly checkpoint: string;
  /** What the official MemorySaver holds. */
  readonly storage: MemorySaver["storage"];
  readonly writes: MemorySaver["writes"];
}

const place: Place = {
  url: process.argv[2] ?? "",
  redis: process.argv[3] ?? "",
  prefix: process.argv[4] ?? "",
};
const { savers, close } = await openSavers(place);
const official = new MemorySaver();
for (const { scenario, durability, part } of parts("to")) {
  for (const saver of [official, ...Object.values(savers)])
    await play(scenario, durability, async () => saver, part);
}
await close();
const begun: Begun = {
  langgraph: installedVersion("@langchain/langgraph"),
  checkpoint: installedVersion("@langchain/langgraph-checkpoint"),
  storage: official.storage,
  writes: official.writes,
};
process.send?.(begun, undefined, undefined, () => process.disconnect());
