/**
 * An agent answers questions from a few documents. Its users say what they think, and its prompt improves by that, version by version. The
 * table of versions shows what became of their runs. One version looks good and isn't: it is rolled back.
 */
import { strict as assert } from "node:assert";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { createWorkspace } from "@stratigraph/workspace";
import { createPrompts, type PromptVersion } from "@stratigraph/workspace/prompts";
import { createCheckpointer } from "stratigraph";
import { answer, documents, retrieve } from "./model.ts";

const checkpointer = await createCheckpointer({ memory: true });
const workspace = createWorkspace(checkpointer, "museum", { agent: "editor" });
const prompts = createPrompts(workspace, { checkpointer });

const questions = ["When does the museum open?", "What does a ticket cost?", "Is there a cloakroom?"];

/** Asks all questions with a version of the prompt, each in a thread of its own, and has the users say what they think. */
async function tryOut(prompt: PromptVersion): Promise<string[]> {
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("answer", ({ messages }) => {
      const question = messages.at(-1)!.text;
      return { messages: [answer(String(prompt.render({ question, documents: retrieve(question) })))] };
    })
    .addNode("check", ({ messages }) => {
      const { text } = messages.at(-1)!;
      if (text.startsWith("{")) throw new Error("an answer has to be text that a visitor can read");
      return {};
    })
    .addEdge(START, "answer")
    .addEdge("answer", "check")
    .addEdge("check", END)
    .compile({ checkpointer });
  const comments: string[] = [];
  for (const question of questions) {
    const threadId = `version ${prompt.version}: ${question}`;
    // #region run
    const config = { configurable: { thread_id: threadId }, metadata: prompt.metadata };
    const { messages } = await graph.invoke({ messages: [new HumanMessage(question)] }, config).catch(() => ({
      messages: [new AIMessage("Something went wrong.")],
    }));
    // #endregion
    const { score, comment } = opinionOf(messages.at(-1)!.text);
    // #region feedback
    await prompts.feedback(threadId, { score, comment, by: "a visitor" });
    // #endregion
    if (score < 1) comments.push(comment);
  }
  return comments;
}

/** What a visitor thinks of an answer. */
function opinionOf(text: string): { readonly score: number; readonly comment: string } {
  if (text === "I don't know.") return { score: 1, comment: "honest" };
  const isTrue = documents.some((document) => text.includes(document.slice(0, document.indexOf("."))));
  if (!isTrue) return { score: 0, comment: text.startsWith("Some") ? "it fails" : "it invents things" };
  return text.length > 80 ? { score: 0.5, comment: "it talks too much" } : { score: 1, comment: "good" };
}

/** What an editor adds to the prompt when a complaint is heard. */
const remedies: Readonly<Record<string, string>> = {
  "it talks too much": "Answer in one sentence.",
  "it invents things": "If the documents don't say it, say that you don't know.",
};

// #region add
let prompt: PromptVersion = await prompts.add("answer", {
  template: "You are the guide of a museum.\nDocuments:\n{documents}\nQuestion: {question}",
});
// #endregion
for (;;) {
  const complaints = await tryOut(prompt);
  const complaint = complaints.find((each) => each in remedies);
  if (complaint === undefined) break;
  const text = String(prompt.template).replace("\n", `\n${remedies[complaint]}\n`);
  // #region next
  prompt = await prompts.add("answer", {
    template: text,
    parent: prompt.version,
    feedback: complaints,
    reason: complaint,
  });
  // #endregion
}

// The best version becomes current. If two people do that at the same time, one of them is told.
const reports = await prompts.report("answer");
const best = reports.reduce((a, b) => (better(b, a) ? b : a)).version;
// #region promote
const current = await prompts.get("answer");
await prompts.promote("answer", best.version, { from: current.version, reason: "visitors like it best" });
// #endregion
await assert.rejects(prompts.promote("answer", "2", { from: current.version }), { code: "VERSION_CONFLICT" });

function better(a: (typeof reports)[number], b: (typeof reports)[number]): boolean {
  return (a.satisfaction ?? 0) > (b.satisfaction ?? 0);
}

// Somebody wants answers for a machine, and promotes that at once. Nobody can read them, so it is taken back.
const machine = await prompts.add("answer", { template: `Answer as JSON.\n${String(best.template)}` });
await prompts.promote("answer", machine.version);
await tryOut(machine);
const { a, b, text } = await prompts.compare("answer", best.version, machine.version);
assert.ok(b.success! < a.success!);
// #region rollback
const back = await prompts.rollback("answer", { from: machine.version, reason: "visitors can't read JSON" });
// #endregion

const table = await prompts.report("answer");
console.log("version  parent  runs  success  tokens  satisfaction  feedback that led to it");
for (const { version, isCurrent, runs, success = 0, tokens, satisfaction = 0 } of table)
  console.log(
    [
      `${version.version}${isCurrent ? " *" : ""}`.padEnd(9),
      (version.parent ?? "").padEnd(8),
      String(runs).padEnd(6),
      `${Math.round(success * 100)} %`.padEnd(9),
      String(tokens.total).padEnd(8),
      `${Math.round(satisfaction * 100)} %`.padEnd(14),
      [...new Set(version.feedback)].join(", "),
    ].join(""),
  );
console.log(`\nFrom version ${a.version.version} to ${b.version.version}:`);
for (const change of text) {
  const sign = { same: " ", removed: "-", added: "+" }[change.kind];
  for (const line of change.text.trimEnd().split("\n")) console.log(`${sign} ${line}`);
}

assert.equal(back.version, best.version);
assert.deepEqual(
  table.map(({ version }) => version.parent),
  [undefined, "1", "2", "3"],
);
assert.deepEqual(
  table.map(({ isCurrent }) => isCurrent),
  [false, false, true, false],
);
assert.ok(table.every(({ runs, ratings }) => runs === questions.length && ratings === questions.length));
const [first, second, third, fourth] = table;
assert.ok(first!.satisfaction! < second!.satisfaction! && second!.satisfaction! < third!.satisfaction!);
assert.ok(second!.tokens.output < first!.tokens.output, "one sentence costs less");
assert.equal(third!.satisfaction, 1);
assert.deepEqual([third!.success, fourth!.failed], [1, questions.length]);
assert.deepEqual(
  text.map(({ kind }) => kind),
  ["added", "same"],
);
await checkpointer.end();
