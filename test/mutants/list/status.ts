import type { Mutant } from "../mutant.ts";

export const statusMutants: readonly Mutant[] = [
  {
    id: "st01",
    kind: "guard",
    what: "threads whose status the storage doesn't know yet are left out of listThreads({ status })",
    file: "packages/engine/core/src/operations/listThreads.ts",
    find: "const status = thread.status ?? (await statusAt(tier, coder, thread.threadId, thread.head));",
    replace: 'const status = thread.status ?? "interrupted";',
    tests: ["packages/engine/postgres/test/status.test.ts"],
  },
  {
    id: "st02",
    kind: "guard",
    what: "a thread with pending writes of an older version is taken for one without: it waits, and isn't in the inbox",
    file: "packages/engine/postgres/sql/000008.sql",
    find: "    when v_unknown then null\n",
    replace: "",
    tests: ["packages/engine/postgres/test/contract.test.ts"],
    name: "the last batch of each task counts",
  },
  {
    id: "st03",
    kind: "guard",
    what: "the index of open threads is trusted before every thread was looked at: threads of older versions are missing",
    file: "packages/engine/redis/src/threadIndex.ts",
    find: '(await this.#connection.command("ZSCORE", this.#keys.open, wholeMark)) !== null;',
    replace: '(await this.#connection.command("ZSCORE", this.#keys.open, wholeMark)) !== undefined;',
    tests: ["packages/engine/redis/test/commands.test.ts"],
    name: "threads that wait come from an index",
  },
  {
    id: "st04",
    kind: "guard",
    what: "an answer that names no task doesn't count: a thread that was answered and cut off still waits",
    file: "packages/engine/core/src/contract/threadStatus.ts",
    find: 'if (was === "waiting") last.set(asked, "answered");',
    replace: 'if (was === "failed") last.set(asked, "answered");',
    tests: ["packages/engine/core/test/contract/memory.test.ts"],
    name: "the last batch of each task counts",
  },
  {
    id: "st05",
    kind: "guard",
    what: "a status is noted for a thread that was written to since it was read",
    file: "packages/engine/postgres/sql/statements.sql",
    find: "where t.key = $1::bytea and t.revision = $2::bigint and t.status is null returning true as done",
    replace:
      "where t.key = $1::bytea and t.revision >= $2::bigint - 1 and t.status is null returning true as done",
    tests: ["packages/engine/postgres/test/contract.test.ts"],
    name: "a status is noted at the revision",
  },
];
