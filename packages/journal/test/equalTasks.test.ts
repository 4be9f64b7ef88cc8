import { expect, it } from "vitest";
import { callOfTask, type CallRequest } from "../src/calls/resolve.ts";
import { Calls } from "../src/log/calls.ts";
import type { Entry } from "../src/log/entry.ts";

/** A call in one of the equal tasks of a step, as the first of them would make it. */
function requestOf(task: string, checkpoint: string, ordinal = 0): CallRequest {
  return {
    call: `call ${ordinal}`,
    tool: "pay",
    effects: "once",
    previous: `root ${ordinal}`,
    nth: 0,
    argsHash: "hash",
    where: { checkpoint, task },
    inNextTask: () => requestOf(task, checkpoint, ordinal + 1),
  };
}

function claimed(...requests: readonly CallRequest[]): Calls {
  const calls = new Calls();
  for (const [n, { inNextTask: _next, ...request }] of requests.entries())
    calls.fold({
      v: 1,
      seq: n + 1,
      at: "2026-01-01T00:00:00.000Z",
      session: "a",
      prev: "",
      hash: "",
      event: { type: "claimed", ...request, attempt: 1, key: request.call },
    } satisfies Entry);
  return calls;
}

const [one, two] = [requestOf("one", "1"), requestOf("two", "1").inNextTask!()];

it("a task that a new process repeats finds its own call, though those before it don't run again", () => {
  expect(callOfTask(claimed(one, two), requestOf("two", "1")).call).toBe("call 1");
  expect(callOfTask(claimed(one, two), requestOf("one", "1")).call).toBe("call 0");
});

it("a task that made no call yet takes the first that no other task of its step made", () => {
  expect(callOfTask(claimed(one), requestOf("two", "1")).call).toBe("call 1");
  expect(callOfTask(claimed(one, two), requestOf("three", "1")).call).toBe("call 2");
  expect(callOfTask(new Calls(), requestOf("three", "1")).call).toBe("call 0");
});

it("from another checkpoint, the calls are those of the tasks in their order", () => {
  const calls = claimed(one, two);
  expect(callOfTask(calls, requestOf("uno", "2")).call).toBe("call 0");
  expect(callOfTask(calls, requestOf("due", "2").inNextTask!()).call).toBe("call 1");
});
