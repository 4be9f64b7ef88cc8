import type { TierSaver } from "@stratigraph/core";
import { chatAgent } from "./chat.ts";
import { cartAgent } from "./race.ts";
import { researchAgent } from "./research.ts";
import { importAgent, reviewAgent } from "./stopped.ts";
import { supportAgent } from "./support.ts";
import { tripAgent } from "./trip.ts";

/** The graphs that made the seeds, by the names that a config gives them, on this checkpointer. */
export function graphsOn(saver: TierSaver) {
  return {
    support: supportAgent(saver),
    trip: tripAgent(saver),
    chat: chatAgent(saver),
    research: researchAgent(saver),
    review: reviewAgent(saver),
    cart: cartAgent(saver),
    import: importAgent(saver),
  };
}
