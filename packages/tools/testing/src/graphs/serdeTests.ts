import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import { Annotation, Command, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { expect, it } from "vitest";
import { CompressingSerde } from "./compressingSerde.ts";
import { DURABILITIES, type Durability } from "./durabilities.ts";
import type { GraphSetup, OpenedSaver } from "./setup.ts";
import { expectUnbrokenHistory, historyOf, interruptValues } from "./snapshots.ts";

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  bytes: Annotation<Uint8Array>,
  text: Annotation<string>,
});

const graphOf = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode("answer", () => ({
      messages: [new AIMessage({ id: "ai", content: "hello ".repeat(500) })],
      bytes: Uint8Array.from({ length: 1024 }, (_, index) => index % 256),
    }))
    .addNode("ask", () => {
      const answer: string = interrupt({ question: "ü😀?" });
      return { text: answer };
    })
    .addEdge(START, "answer")
    .addEdge("answer", "ask")
    .compile({ checkpointer });

/**
 * Registers the tests of a saver whose serializer writes compressed bytes.
 *
 * @param open - opens a saver over the given serializer, once per test
 * @param known - whether a test, by name, is known to fail
 * @param durabilities - the durabilities with which tests run. Default: each.
 */
export const registerSerdeTests = (
  open: NonNullable<GraphSetup["withSerde"]>,
  known: (test: string) => boolean = () => false,
  durabilities: readonly Durability[] = DURABILITIES,
): void => {
  const withSaver = async (
    use: (opened: OpenedSaver, serde: CompressingSerde) => Promise<void>,
  ): Promise<void> => {
    const serde = new CompressingSerde();
    const opened = await open(serde);
    try {
      await use(opened, serde);
    } finally {
      await opened.close();
    }
  };

  for (const durability of durabilities) {
    const name = `states, interrupts and metadata, durability ${durability}`;
    (known(name) ? it.fails : it)(name, async () => {
      await withSaver(async ({ saver, second }, serde) => {
        const config = { configurable: { thread_id: `serde-${durability}` }, durability };
        await graphOf(saver).invoke(
          { messages: [new HumanMessage({ id: "h", content: "hi" })], text: "" },
          config,
        );
        const graph = graphOf((await second?.()) ?? saver);
        const waiting = await graph.getState(config);
        expect(interruptValues(waiting)).toEqual([{ question: "ü😀?" }]);
        await graph.invoke(new Command({ resume: "done" }), config);
        const done = await graph.getState(config);
        const { messages, bytes, text } = done.values as {
          messages: BaseMessage[];
          bytes: Uint8Array;
          text: string;
        };
        expect(messages.map((message) => message.content)).toEqual(["hi", "hello ".repeat(500)]);
        expect(messages[1]).toBeInstanceOf(AIMessage);
        expect(Array.from(bytes)).toEqual(Array.from({ length: 1024 }, (_, index) => index % 256));
        expect(text).toBe("done");
        const history = await historyOf(graph, config, { filter: { source: "loop" } });
        expect(history.length).toBe(durability === "exit" ? 2 : 3);
        expectUnbrokenHistory(await historyOf(graph, config));
        expect(serde.loads).toBeGreaterThan(0);
      });
    });
  }
};
