import type { BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { isGraphInterrupt } from "@langchain/langgraph";
import { createSupervisor } from "@langchain/langgraph-supervisor";
import { createHandoffTool, createSwarm } from "@langchain/langgraph-swarm";
import { journalMiddleware } from "@stratigraph/journal/langchain";
import { CompositeBackend, createDeepAgent, StateBackend, StoreBackend } from "deepagents";
import {
  ClearToolUsesEdit,
  contextEditingMiddleware,
  createAgent,
  humanInTheLoopMiddleware,
  summarizationMiddleware,
  todoListMiddleware,
  toolRetryMiddleware,
} from "langchain";
import { z } from "zod";
import type { Agent, Kind, Place } from "./kind.ts";
import { asks, inTurn, resultsIn, says, ScriptedModel, type Script } from "./scripted.ts";
import { journalled, type World } from "./world.ts";

const hello = ["go"];
const model = (world: World, script: Script) => new ScriptedModel(world, script) as never;
const asked = (messages: readonly BaseMessage[]) => messages.find((each) => each.getType() === "human")!.text;
const pays = (what: string) => ["pay", { what }, `pay-${what}`] as const;

/** An agent of createAgent with a journal's tools, and other middleware behind the journal's. */
function agentOf(
  { saver, world }: Place,
  script: Script,
  middleware: readonly unknown[],
  { name, nested = false, more = [] }: { name?: string; nested?: boolean; more?: readonly unknown[] } = {},
): Agent {
  const { journal, tools } = journalled(saver, world);
  return createAgent({
    ...(name === undefined ? {} : { name }),
    model: model(world, script),
    tools: [...tools(), ...more] as never,
    middleware: [journalMiddleware(journal), ...middleware] as never,
    ...(nested ? {} : { checkpointer: saver as never }),
  }).graph as unknown as Agent;
}

const todos = (...states: readonly string[]) =>
  [
    "write_todos",
    { todos: states.map((status, n) => ({ content: `part ${n + 1}`, status })) },
    `todos-${states.join("-")}`,
  ] as const;

const task = (what: string) =>
  ["task", { description: what, subagent_type: "scout" }, `task-${what}`] as const;

/** Files in the state and in the store, a list of things to do, two subagents at a time, each of which asks before it pays. */
const deep: Kind = {
  inputs: hello,
  atOnce: 2,
  open({ saver, store, world }) {
    const { journal, tools } = journalled(saver, world);
    const scout = inTurn(
      (messages) => asks(pays(asked(messages))),
      (messages) =>
        asks(["write_file", { file_path: `/notes/${asked(messages)}.md`, content: `${asked(messages)}\n` }]),
      (messages) => says(`${asked(messages)} is paid`),
    );
    const script = inTurn(
      () => asks(todos("in_progress", "pending")),
      () => asks(task("tea"), task("coffee")),
      () => asks(["write_file", { file_path: "/report.md", content: "tea, coffee\n" }]),
      () => asks(["edit_file", { file_path: "/report.md", old_string: "tea", new_string: "green tea" }]),
      () => asks(["write_file", { file_path: "/memories/drinks.md", content: "green tea\n" }]),
      () => asks(["publish", { what: "report" }, "publish-report"], todos("completed", "completed")),
      () => says("published"),
    );
    const chain = [journalMiddleware(journal), todoListMiddleware()] as never;
    return createDeepAgent({
      model: model(world, script),
      tools: tools() as never,
      middleware: chain,
      interruptOn: { publish: true } as never,
      subagents: [
        {
          name: "scout",
          description: "finds things",
          systemPrompt: "Find it.",
          model: model(world, scout),
          tools: tools() as never,
          middleware: chain,
          interruptOn: { pay: true } as never,
        },
      ],
      backend: new CompositeBackend(new StateBackend(), {
        "/memories/": new StoreBackend({ namespace: ["files"] }),
      }),
      checkpointer: saver as never,
      store: store as never,
    }) as unknown as Agent;
  },
};

const handsTo = (name: string) => [`transfer_to_${name}`, {}, `to-${name}`] as const;

/** Two agents one after another, each of which pays. */
const supervisor: Kind = {
  inputs: hello,
  open(place) {
    const worker = (name: string) =>
      agentOf(
        place,
        (messages) =>
          resultsIn(messages, "pay") < (name === "buyer" ? 1 : 2) ? asks(pays(name)) : says(`${name} paid`),
        [],
        { name, nested: true },
      ) as never;
    const script: Script = (messages) => {
      const paid = resultsIn(messages, "pay");
      return paid === 0 ? asks(handsTo("buyer")) : paid === 1 ? asks(handsTo("seller")) : says("both paid");
    };
    return createSupervisor({
      agents: [worker("buyer"), worker("seller")],
      llm: model(place.world, script),
      outputMode: "full_history",
    }).compile({ checkpointer: place.saver as never }) as unknown as Agent;
  },
};

/** One agent hands over to another, which still has the thread when the next input comes. */
const swarm: Kind = {
  inputs: ["go", "and again"],
  open(place) {
    const greeter = agentOf(place, () => asks(handsTo("clerk")), [], {
      name: "greeter",
      nested: true,
      more: [createHandoffTool({ agentName: "clerk" })],
    });
    const clerk = agentOf(
      place,
      (messages) => {
        const turn = messages.filter((each) => each.getType() === "human").length;
        return resultsIn(messages, "pay") < turn ? asks(pays(`turn-${turn}`)) : says(`paid ${turn}`);
      },
      [],
      { name: "clerk", nested: true },
    );
    return createSwarm({
      agents: [greeter, clerk] as never,
      defaultActiveAgent: "greeter",
    }).compile({ checkpointer: place.saver as never }) as unknown as Agent;
  },
};

/** After some messages the older ones become a summary, and calls are told apart all the same. */
const summarization: Kind = {
  inputs: ["go", "again", "and again"],
  open(place) {
    const script: Script = (messages) =>
      messages.at(-1)!.getType() === "tool" ? says(`paid, ${messages.length} messages`) : asks(pays("rent"));
    const summary = model(place.world, (messages) => says(`summary of ${messages.at(-1)!.text.length > 0}`));
    return agentOf(place, script, [
      summarizationMiddleware({ model: summary, trigger: { messages: 6 }, keep: { messages: 4 } } as never),
    ]);
  },
};

/** A person edits one call, approves another, and rejects a third one, each after a restart. */
const humanInTheLoop: Kind = {
  inputs: hello,
  open: (place) =>
    agentOf(
      place,
      inTurn(
        () => asks(pays("tea"), pays("coffee")),
        () => asks(pays("gold")),
        () => says("paid"),
      ),
      [humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never)],
    ),
  decide: ({ name, args: { what } }) =>
    what === "gold"
      ? { type: "reject", message: "too much" }
      : what === "tea"
        ? { type: "edit", editedAction: { name, args: { what: "green-tea" } } }
        : { type: "approve" },
};

/** A tool that fails twice is retried; a payment isn't, also where its outcome is unknown. */
const toolRetry: Kind = {
  inputs: hello,
  open(place) {
    const { book, reached } = place.world;
    const look = tool(
      async () => {
        const times = book.lines.filter((line) => line.startsWith("looked")).length;
        if (times < 2) {
          book.add("looked #");
          throw new Error("not now");
        }
        await reached();
        return "found";
      },
      { name: "look", description: "looks", schema: z.object({}) },
    );
    const retry = toolRetryMiddleware({
      maxRetries: 2,
      initialDelayMs: 0,
      jitter: false,
      retryOn: (error) => !isGraphInterrupt(error),
      onFailure: "error",
    });
    return agentOf(
      place,
      inTurn(
        () => asks(["look", {}, "look-1"]),
        () => asks(pays("tea"), pays("coffee")),
        () => says("paid"),
      ),
      [retry],
      { more: [look] },
    );
  },
};

const todoList: Kind = {
  inputs: hello,
  open: (place) =>
    agentOf(
      place,
      inTurn(
        () => asks(todos("in_progress", "pending")),
        () => asks(pays("tea"), todos("completed", "in_progress")),
        () => asks(todos("completed", "completed")),
        () => says("all done"),
      ),
      [todoListMiddleware()],
    ),
};

/** The model no longer sees old results; the state keeps them. */
const contextEditing: Kind = {
  inputs: hello,
  open: (place) =>
    agentOf(
      place,
      inTurn(
        () => asks(pays("tea")),
        () => asks(pays("coffee")),
        () => asks(pays("cocoa")),
        (messages) =>
          says(
            messages
              .filter((each) => each.getType() === "tool")
              .map(({ text }) => text)
              .join(),
          ),
      ),
      [
        contextEditingMiddleware({
          edits: [new ClearToolUsesEdit({ trigger: { tokens: 1 }, keep: { messages: 1 } })],
        }),
      ],
    ),
};

export const kinds: Readonly<Record<string, Kind>> = {
  deepagents: deep,
  supervisor,
  swarm,
  summarization,
  "human in the loop": humanInTheLoop,
  toolRetry,
  "todo list": todoList,
  "context editing": contextEditing,
};
