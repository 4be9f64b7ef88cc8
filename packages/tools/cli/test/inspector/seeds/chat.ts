import { HumanMessage } from "@langchain/core/messages";
import { Annotation, END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { on, says } from "./on.ts";

const SUBJECTS = [
  ["Which tyres for gravel?", "For mixed ground take 40 to 45 mm with a low centre tread. At 80 kg I would ride them at 2.6 bar."],
  ["Tubeless or tubes?", "Tubeless, if you mind the sealant: refill it twice a year. You can ride lower pressure and flats are rare."],
  ["My chain skips under load.", "Measure it first: beyond 0.75 % stretch it has to go, often together with the cassette."],
  ["How do I measure it?", "With a chain checker, or a ruler: twelve links are 304.8 mm when new, and 307 mm are worn out."],
  ["Is a torque wrench worth it?", "On carbon, yes. Stem and seat clamp want 4 to 6 Nm, and a hand can't tell 6 from 9."],
  ["What light do I need in Germany?", "One with StVZO approval, a cut-off beam and at least 10 lux. More than 70 lux pays off only on dark roads."],
] as const; // prettier-ignore

/** A chat that answers from a list, in place of a model. */
export function chatAgent(checkpointer: TierSaver) {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    summary: Annotation<string>(),
    turns: Annotation<number>({ reducer: (turns, more) => turns + more, default: () => 0 }),
  });
  return new StateGraph(State)
    .addNode("chat", ({ messages, turns }) => {
      const [question, answer] = SUBJECTS[turns % SUBJECTS.length]!;
      const usage = { input_tokens: 90 + turns * 70, output_tokens: 40, total_tokens: 130 + turns * 70 };
      const content = turns < SUBJECTS.length ? answer : `As I said about "${question}": ${answer}`;
      return {
        messages: [says({ id: `answer-${messages.length}`, content, usage_metadata: usage })],
        summary: `${turns + 1} questions, the last one: ${question}`,
        turns: 1,
      };
    })
    .addEdge(START, "chat")
    .addEdge("chat", END)
    .compile({ checkpointer });
}

/** A conversation of 60 messages. */
export async function seedChat(saver: TierSaver): Promise<void> {
  const agent = chatAgent(saver);
  const clara = on("workshop chat", "clara");
  for (let turn = 0; turn < 30; turn += 1) {
    const [question] = SUBJECTS[turn % SUBJECTS.length]!;
    const content = turn < SUBJECTS.length ? question : `Once more (${turn + 1}): ${question.toLowerCase()}`;
    await agent.invoke({ messages: [new HumanMessage({ id: `question-${turn}`, content })] }, clara);
  }
}
