import type { Mutant } from "../mutant.ts";

const front = "packages/journal/src/callFront.ts";

/** Agents and models that are given equal tasks and questions in several turns. */
export const workerMutants: readonly Mutant[] = [
  {
    id: "wo01",
    kind: "guard",
    what: "an agent that a node calls with an equal task drops the purchase of the next turn",
    file: front,
    find: "if (chain !== undefined && !beginsAnew) return chain;",
    replace: "if (chain !== undefined) return chain;",
    tests: ["packages/journal/test/workers.test.ts"],
  },
  {
    id: "wo02",
    kind: "guard",
    what: "a model's second try in such an agent has another idempotency key",
    file: "packages/journal/src/calls/resolve.ts",
    find: "request.named === true && request.where.toolCallId === undefined",
    replace: "request.named === true",
    tests: ["packages/journal/test/workers.test.ts"],
  },
  {
    id: "wo03",
    kind: "guard",
    what: "a question that stands by itself is given the answer of an earlier turn",
    file: front,
    find: "const place = isOfTurn ? ",
    replace: "const place = argsText === null ? ",
    tests: ["packages/journal/test/models.test.ts"],
  },
  {
    id: "wo08",
    kind: "guard",
    what: "of two equal calls that one message asks for, which a tool makes by itself, one is dropped",
    file: front,
    find: "currentCall() === undefined ? equalBefore(task, askedId(config)) : 0",
    replace: "0",
    tests: ["packages/journal/test/workers.test.ts"],
  },
  {
    id: "wo04",
    kind: "guard",
    what: "behind a merge the next purchase is given the receipt of the side that was merged",
    file: "packages/branch/src/mergeChannel.ts",
    find: "if (spec?.joinsSides === true) {",
    replace: "if (name === null) {",
    tests: ["packages/journal/test/stateGraphs.test.ts"],
  },
  {
    id: "wo05",
    kind: "guard",
    what: "what is bought beside an open transaction is given its receipt, which is refunded later",
    file: "packages/journal/src/langgraph/place.ts",
    find: "return ours!.some((id) => theirs!.includes(id));",
    replace: "return ours === theirs;",
    tests: ["packages/journal/test/transaction/beside.test.ts"],
  },
  {
    id: "wo06",
    kind: "guard",
    what: "the next purchase is given the receipt of a transaction that was rolled back",
    file: "packages/journal/src/langgraph/place.ts",
    find: ".head === undefined) return true;",
    replace: ".head === null) return true;",
    tests: ["packages/journal/test/transaction/beside.test.ts"],
  },
  {
    id: "wo07",
    kind: "guard",
    what: "a thread that goes back behind a transaction pays again",
    file: "packages/journal/src/langgraph/place.ts",
    find: 'if (await isStored(tier, { threadId: this.#threadId, namespace: "", checkpointId })) return false;',
    replace: "",
    tests: ["packages/journal/test/transaction/beside.test.ts"],
  },
];
