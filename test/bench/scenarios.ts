import { AIMessage, type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { randomNumbers } from "./randomNumbers.ts";
import { TurnMaker } from "./synthetic.ts";

/** A thread's channel values, one after another: the first is the state it starts with. */
export type Scenario = (size: ScenarioSize) => Iterable<Record<string, unknown>>;

export interface ScenarioSize {
  /** Turns in the first state, about 4.9 kB each. */
  startTurns: number;
  /** States after the first. */
  puts: number;
}

/** How states change from put to put. Every put also appends a turn, except with vectors. */
export const SCENARIOS = {
  growing: (size) => messagesThat(size, () => {}),

  "one old message rewritten": (size) =>
    messagesThat(size, (messages, maker, random) => rewrite(messages, maker, random, 1)),

  "six scattered edits": (size) =>
    messagesThat(size, (messages, maker, random) => rewrite(messages, maker, random, 6)),

  "oldest turn trimmed": (size) =>
    messagesThat(size, (messages) => {
      messages.splice(0, 4);
    }),

  "half summarised every 20th put": (size) =>
    messagesThat(size, (messages, maker, _random, put) => {
      if (put % 20 !== 0) return;
      const summary = new SystemMessage({ id: `s${put}`, content: maker.text(300) });
      messages.splice(0, messages.length >> 1, summary);
    }),

  "embeddings as numbers": (size) => vectors(size, (vector) => vector),

  "embeddings as Float32Array": (size) => vectors(size, (vector) => Float32Array.from(vector)),
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;

function* messagesThat(
  { startTurns, puts }: ScenarioSize,
  change: (messages: BaseMessage[], maker: TurnMaker, random: () => number, put: number) => void,
): Iterable<Record<string, unknown>> {
  const maker = new TurnMaker();
  const random = randomNumbers(2);
  const messages: BaseMessage[] = [];
  for (let turn = 0; turn < startTurns; turn++) messages.push(...maker.turn());
  yield { messages: [...messages] };
  for (let put = 1; put <= puts; put++) {
    change(messages, maker, random, put);
    messages.push(...maker.turn());
    yield { messages: [...messages] };
  }
}

function rewrite(messages: BaseMessage[], maker: TurnMaker, random: () => number, edits: number): void {
  for (let edit = 0; edit < edits; edit++) {
    // Answers are every fourth message.
    const index = Math.floor((random() * messages.length) / 4) * 4 + 3;
    messages[index] = new AIMessage({ id: messages[index]?.id ?? "", content: maker.text(225) });
  }
}

/** 1,536 dimensions, one vector more per put. */
function* vectors(
  { startTurns, puts }: ScenarioSize,
  as: (vector: number[]) => unknown,
): Iterable<Record<string, unknown>> {
  const maker = new TurnMaker();
  const all: unknown[] = [];
  for (let vector = 0; vector < startTurns; vector++) all.push(as(maker.embedding(1536)));
  yield { vectors: [...all] };
  for (let put = 1; put <= puts; put++) {
    all.push(as(maker.embedding(1536)));
    yield { vectors: [...all] };
  }
}
