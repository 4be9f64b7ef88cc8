import { MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { describe } from "vitest";
import { COMPRESSED_TYPE } from "../src/graphs/compressingSerde.ts";
import { registerSerdeTests } from "../src/graphs/serdeTests.ts";
import type { OpenedSaver } from "../src/graphs/setup.ts";
import { testGraphs } from "../src/graphs/testGraphs.ts";
import { isAtLeast } from "../src/installedVersion.ts";

const open = async (serde?: SerializerProtocol): Promise<OpenedSaver> => ({
  saver: new MemorySaver(serde),
  close: async () => {},
});

/** The official MemorySaver reads everything back as type "json"; with the type mended, it passes. */
const withSerde = (serde: SerializerProtocol): Promise<OpenedSaver> =>
  open({
    dumpsTyped: (data: unknown) => serde.dumpsTyped(data),
    loadsTyped: (_type, data): Promise<unknown> => serde.loadsTyped(COMPRESSED_TYPE, data),
  });

const options = {
  // Before LangGraph 1.5 a run without progress puts its checkpoint again, on itself; it becomes its own parent.
  knownFailures: isAtLeast("@langchain/langgraph", "1.5.0")
    ? []
    : ["interrupts > asking again without an answer keeps the question, durability exit"],
};

testGraphs(
  "official MemorySaver",
  Object.assign(() => open(), { withSerde }),
  options,
);

describe("official MemorySaver forgets the type of what a serializer wrote", () => {
  registerSerdeTests(open, () => true);
});
