import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { TierSaver } from "@stratigraph/core";
import { on } from "./on.ts";

/** A script that would tell of itself, had it run: a test looks for the global, and for a request to /pwned. */
const SCRIPT = "globalThis.pwned=1;fetch('/pwned')";

/** Thread ids that break pages which build markup, addresses or selectors from them. */
export const hostileIds: readonly string[] = [
  `<img src=x onerror="${SCRIPT}">`,
  `"><script>${SCRIPT}</script>`,
  "../../etc/passwd",
  "..",
  "a/b?c=d#e&f=g",
  "%2F%2e%2e%00",
  "100%",
  'it\'s "quoted" `back` \\slash',
  "\u202Egnp.exe\u202C rtl עברית",
  "🚲👩‍🔧🇧🇪",
  "  spaces  ",
  "__proto__",
  "constructor",
  "null",
  "undefined",
  "ada@head~1",
  "-n",
  "javascript:globalThis.pwned=1",
  "long ".repeat(80),
];

/** Contents that run as script, where a page trusts them. */
const CONTENTS: readonly string[] = [
  `<img src=x onerror="${SCRIPT}">`,
  `<svg/onload="${SCRIPT}">`,
  `<iframe srcdoc="<script>parent.pwned=1</script>"></iframe>`,
  `[click me](javascript:globalThis.pwned=1) and ![image](x" onerror="${SCRIPT})`,
  "javascript:globalThis.pwned=1",
  `</script><script>${SCRIPT}</script>`,
  `{{constructor.constructor("${SCRIPT}")()}} \${globalThis.pwned=1}`,
  "\u202Ereversed\u202C \u0000 null \u0007 bell \u001B[31mred\u001B[0m \uFFFE",
  "http://127.0.0.1:1/pwned.png",
];

/** Hostile thread ids, channel names, keys and messages. */
export async function seedHostile(saver: TierSaver): Promise<void> {
  const State = Annotation.Root({
    ...MessagesAnnotation.spec,
    [`<b onclick=${SCRIPT}>channel`]: Annotation<unknown>(),
    data: Annotation<unknown>(),
  });
  const node = `<i>node "a'b`;
  const graph = new StateGraph(State)
    .addNode(node, ({ messages }) => ({
      messages: CONTENTS.map(
        (content, n) =>
          new AIMessage({
            id: `${CONTENTS[0]!}${messages.length}${n}`,
            content,
            name: CONTENTS[1]!,
            tool_calls: [{ name: CONTENTS[0]!, args: { [CONTENTS[1]!]: content }, id: `${content}${n}` }],
          }),
      ),
      [`<b onclick=${SCRIPT}>channel`]: CONTENTS,
      // JSON.parse, as a literal would set the prototype.
      data: JSON.parse(
        JSON.stringify({
          contents: CONTENTS,
          "": "empty",
          "a.b[0]": 1,
          constructor: "text",
          toString: null,
        }).replace("{", '{"__proto__":{"pwned":1},'),
      ) as unknown,
    }))
    .addEdge(START, node as never)
    .compile({ checkpointer: saver });
  for (const [n, id] of hostileIds.entries())
    await graph.invoke(
      { messages: [new HumanMessage({ id: `said-${n}`, content: CONTENTS[n % CONTENTS.length]! })] },
      on(id, CONTENTS[0]!),
    );
}
