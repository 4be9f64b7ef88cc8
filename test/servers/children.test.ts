import { join } from "node:path";
import { expect, test } from "vitest";
import { available } from "./available.ts";
import { runChild } from "./children.ts";
import { isAlive, waitUntil } from "./process.ts";

const script = join(import.meta.dirname, "fixtures/child.ts");
type Message = { args?: string[]; word?: string; rows?: unknown[]; serverPid?: number };

const shared = available.postgres || process.env["STRATIGRAPH_TEST_POSTGRES_URL"] !== undefined;
test.skipIf(!shared)(
  "a child gets arguments and environment, reaches the shared server, and its exit code is seen",
  async () => {
    const child = runChild<Message>(script, ["a", "b c"], { env: { WORD: "hello" } });
    expect(await child.message(() => true)).toEqual({ args: ["a", "b c"], word: "hello" });
    child.send("database");
    expect((await child.message((message) => "rows" in message)).rows).toEqual([{ one: 1 }]);
    child.send("end");
    expect(await child.exit).toMatchObject({ code: 7, signal: null });
    expect(child.messages).toHaveLength(2);
    await expect(child.message((message) => "serverPid" in message)).rejects.toThrow("ended (7)");
  },
);

test.skipIf(!available.redis)(
  "a server ends with the process that started it, also when that is killed",
  async () => {
    const child = runChild<Message>(script);
    await child.message(() => true);
    child.send("server");
    const { serverPid = 0 } = await child.message((message) => "serverPid" in message);
    expect(isAlive(serverPid)).toBe(true);
    expect((await child.kill()).signal).toBe("SIGKILL");
    await waitUntil("the server to end", () => !isAlive(serverPid), { timeoutMs: 5_000 });
  },
);
