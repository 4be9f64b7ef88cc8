// An application's graph: messages, Command, Send, an interrupt that is answered after the storage was opened anew. CommonJS and
// ES modules run the same, each with the libraries that it loaded itself.

/**
 * @param langgraph the application's `@langchain/langgraph`
 * @param messages the application's `@langchain/core/messages`
 * @param open opens the checkpointer; called twice
 * @param close called for the first one
 * @returns what came of it, as JSON knows it; `foreign` names values that aren't instances of the application's classes
 */
exports.scenario = async function scenario({ langgraph, messages, open, close }) {
  const { Annotation, Command, END, MessagesAnnotation, Send, START, StateGraph, interrupt } = langgraph;
  const { AIMessage, HumanMessage, ToolMessage } = messages;
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    found: Annotation({ reducer: (before, more) => [...before, ...more], default: () => [] }),
    kept: Annotation(),
  });
  const looks = [1, 2].map((n) => ({ id: `call${n}`, name: "look", args: { n } }));
  const compiled = (checkpointer) =>
    new StateGraph(State)
      .addNode(
        "plan",
        () =>
          new Command({
            update: {
              messages: [new AIMessage({ id: "a1", content: "Two places to look at.", tool_calls: looks })],
              kept: [new Send("look", { n: 9 }), new Command({ goto: "look" })],
            },
            goto: looks.map(({ args }) => new Send("look", args)),
          }),
        { ends: ["look"] },
      )
      .addNode("look", ({ n }) => {
        const answer = n === 2 ? interrupt(`May I look at ${n}?`) : "yes";
        return {
          found: [`${n}: ${answer}`],
          messages: [new ToolMessage({ id: `t${n}`, tool_call_id: `call${n}`, content: answer })],
        };
      })
      .addNode("close", () => ({ messages: [new AIMessage({ id: "a2", content: "Done. ".repeat(400) })] }))
      .addEdge(START, "plan")
      .addEdge("look", "close")
      .addEdge("close", END)
      .compile({ checkpointer });

  const config = { configurable: { thread_id: "ada" } };
  const first = await open();
  await compiled(first).invoke({ messages: [new HumanMessage({ id: "h1", content: "Look!" })] }, config);
  await close(first);

  const checkpointer = await open();
  const graph = compiled(checkpointer);
  const waiting = await graph.getState(config);
  const tuple = await checkpointer.getTuple(config);
  const sends = tuple.checkpoint.channel_values.__pregel_tasks ?? [];
  await graph.invoke(new Command({ resume: "go on" }), config);
  const { values } = await graph.getState(config);
  let steps = 0;
  for await (const _ of graph.getStateHistory(config)) steps += 1;
  await checkpointer.end?.();

  const expected = [HumanMessage, AIMessage, ToolMessage, ToolMessage, AIMessage];
  const foreign = [
    ...values.messages.filter((message, i) => !(message instanceof expected[i])).map(({ id }) => id),
    ...sends.filter((value) => !(value instanceof Send)).map(() => "pending Send"),
    ...[Send, Command].flatMap((type, i) => (values.kept[i] instanceof type ? [] : [`kept ${type.name}`])),
  ];
  return {
    foreign,
    asked: waiting.tasks.flatMap(({ interrupts }) => interrupts.map(({ value }) => value)),
    sends: sends.length,
    found: values.found,
    messages: values.messages.map((message) => `${message.getType()} ${message.id} ${message.text.length}`),
    calls: values.messages[1].tool_calls.length,
    steps,
  };
};
