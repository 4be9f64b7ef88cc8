import * as langchain from "@langchain/core/messages";
import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { readRecording } from "../recording.ts";
import { exported } from "../savers.ts";
import { median } from "../stats.ts";

/** Input of the job. */
export interface SerdeInput {
  whose: "official" | "ours";
  conversationsFile: string;
  conversations: number;
  rounds: number;
}

/** Medians in milliseconds; undefined where this checkout doesn't have the serializer. */
export type SerdeResult = { bytes: number; dumps: number; loads: number; type: string } | undefined;

/** Dumps and loads the messages of the recording, over and over. */
export async function job(input: SerdeInput): Promise<SerdeResult> {
  const serde =
    input.whose === "official"
      ? new MemorySaver().serde
      : await exported<new () => SerializerProtocol>("@stratigraph/core", "StratigraphSerializer").then(
          (Serializer) => Serializer && new Serializer(),
        );
  if (serde === undefined) return undefined;
  const messages = readRecording(input.conversationsFile, input.conversations, langchain);
  const dumps: number[] = [];
  const loads: number[] = [];
  let [type, data] = await serde.dumpsTyped(messages);
  for (let round = 0; round < input.rounds; round++) {
    const start = performance.now();
    [type, data] = await serde.dumpsTyped(messages);
    const middle = performance.now();
    const loaded = (await serde.loadsTyped(type, data)) as unknown[];
    loads.push(performance.now() - middle);
    dumps.push(middle - start);
    if (loaded.length !== messages.length) throw new Error("the serializer lost messages");
  }
  return { bytes: data.length, dumps: median(dumps), loads: median(loads), type };
}
