import { MemoryTier, TierSaver } from "@stratigraph/core";
import { StoreBackend, type BackendProtocolV2 } from "deepagents";
import { expect, test } from "vitest";
import { WorkspaceBackend } from "../src/deepagents.ts";
import { createWorkspace, type Workspace } from "../src/index.ts";
import { all } from "./suite.ts";
import { edit, meeting, path, read, runTeam, write, type Script } from "./team.ts";

/** Two editors of different places, who have both read the file before either of them changes it. */
function editors(): Record<string, Script> {
  const met = meeting(2);
  const editor =
    (from: string, to: string): Script =>
    async (results) => {
      if (results.length === 0) return [read];
      if (results.length > 1) return [];
      await met();
      return [edit(from, to)];
    };
  return { writer: editor("first", "FIRST"), critic: editor("second", "SECOND") };
}

function open(): { saver: TierSaver; ws: Workspace; backend: WorkspaceBackend } {
  const saver = new TierSaver(new MemoryTier());
  const ws = createWorkspace(saver, "team");
  return { saver, ws, backend: new WorkspaceBackend(ws) };
}

async function contentIn(backend: BackendProtocolV2): Promise<unknown> {
  return (await backend.read(path)).content;
}

test("two subagents that edit one file at a time lose nothing; with StoreBackend one edit is lost", async () => {
  const { saver, ws, backend } = open();
  const store = ws.store();
  await backend.write(path, "first\nsecond\n");
  // After the reads of both come those of their edits: these have the file before one of them writes it, as in two processes.
  const [get, met] = [store.get.bind(store), meeting(2)];
  let gets = 0;
  store.get = async (namespace, key) => {
    const item = await get(namespace, key);
    if ((gets += 1) > 2) await met();
    return item;
  };
  await runTeam(new StoreBackend({ store }), saver, editors());
  expect(["FIRST\nsecond\n", "first\nSECOND\n"]).toContain(await contentIn(backend));

  store.get = get;
  await backend.write(path, "first\nsecond\n");
  const since = await ws.version();
  await runTeam(backend, saver, editors());
  expect(await contentIn(backend)).toBe("FIRST\nSECOND\n");
  const events = await all(ws.log({ since }));
  expect(events.map(({ author, reason }) => [author.agent, reason])).toEqual(
    expect.arrayContaining([
      ["critic", "edit_file"],
      ["writer", "edit_file"],
    ]),
  );
  expect(events).toHaveLength(2);
  expect(events[0]!.author).toMatchObject({
    thread: expect.stringMatching(/^thread-/) as unknown,
    toolCall: expect.stringMatching(/^call-/) as unknown,
  });
});

test("an edit is made on what another process wrote meanwhile, or says that its text is gone", async () => {
  const { ws } = open();
  let meanwhile: string | undefined;
  const backend = new WorkspaceBackend({
    store: () => ws.store(),
    update: (namespace, key, change, options) => {
      const between = async (value: Record<string, unknown> | undefined) => {
        const next = await change(value);
        if (meanwhile !== undefined) await ws.put(namespace, key, { ...value, content: meanwhile });
        meanwhile = undefined;
        return next;
      };
      return ws.update(namespace, key, between, options);
    },
  });
  await backend.write(path, "first\nsecond\n");
  meanwhile = "first\nSECOND\n";
  expect(await backend.edit(path, "first", "FIRST")).toEqual({ path, filesUpdate: null, occurrences: 1 });
  expect(await contentIn(backend)).toBe("FIRST\nSECOND\n");
  meanwhile = "third\n";
  expect(await backend.edit(path, "SECOND", "2nd")).toEqual({
    error: "Error: String not found in file: 'SECOND'",
  });
  expect(await contentIn(backend)).toBe("third\n");
});

test("a subagent that has read a file doesn't write over what others changed since; the log keeps what is replaced", async () => {
  const { saver, ws, backend } = open();
  await backend.write(path, "draft");
  const [bothRead, edited] = [meeting(2), meeting(2)];
  const team: Record<string, Script> = {
    critic: async (results) => {
      if (results.length === 0) return [read];
      if (results.length === 1) await bothRead();
      if (results.length === 1) return [edit("draft", "draft, reviewed")];
      await edited();
      return [];
    },
    writer: async (results) => {
      if (results.length === 0) return [read];
      if (results.length === 1) await bothRead();
      if (results.length === 1) await edited();
      const calls = [write("final"), read, write("final, reviewed"), write("final, reviewed twice")];
      return calls.slice(results.length - 1, results.length);
    },
  };
  const { writer } = await runTeam(backend, saver, team);
  expect(writer![1]).toBe(
    "Error: File '/report.md' was changed by others since you read it. Nothing was written. Read it again first.",
  );
  expect(writer![2]).toContain("draft, reviewed");
  expect(writer!.slice(3)).toEqual(Array.from({ length: 2 }, () => "Successfully wrote to '/report.md'"));
  // Who hasn't read a file replaces it, as deepagents tells its models.
  await runTeam(backend, saver, { newcomer: (results) => (results.length === 0 ? [write("blank")] : []) });
  expect(await contentIn(backend)).toBe("blank");
  const contents = (await all(ws.history(["filesystem"], path))).map(
    (event) => event.kind === "put" && event.value["content"],
  );
  expect(contents).toEqual(["blank", "final, reviewed twice", "final, reviewed", "draft, reviewed", "draft"]);
});

test("a subagent that edits a file which others changed since it read it doesn't replace it as a whole either", async () => {
  const { saver, backend } = open();
  await backend.write(path, "a b c");
  const [bothRead, edited] = [meeting(2), meeting(2)];
  const { writer } = await runTeam(backend, saver, {
    critic: async (results) => {
      if (results.length === 0) return [read];
      if (results.length === 1) await bothRead();
      if (results.length === 1) return [edit("c", "C")];
      await edited();
      return [];
    },
    writer: async (results) => {
      if (results.length === 0) return [read];
      if (results.length === 1) await bothRead();
      if (results.length === 1) await edited();
      return [edit("a", "A"), write("A b c")].slice(results.length - 1, results.length);
    },
  });
  expect(writer![2]).toContain("was changed by others");
  expect(await contentIn(backend)).toBe("A b C");
});

test("files are those of StoreBackend, and so are all results", async () => {
  const { ws, backend } = open();
  const theirs = new StoreBackend({ store: ws.store() });
  const bytes = new Uint8Array([0, 159, 255]);
  const png = Buffer.from(bytes).toString("base64");
  const steps: ((backend: BackendProtocolV2) => unknown)[] = [
    (one) => one.write("/a/b.md", "one\ntwo\nthree\n"),
    (one) => one.write("/a/b.md", "one\ntwo\ntwo\n"),
    (one) => one.write("/a/pic.png", png),
    (one) =>
      one.uploadFiles!([
        ["/up.txt", new TextEncoder().encode("up")],
        ["/up.png", bytes],
      ]),
    (one) => one.edit("/a/b.md", "two", "2"),
    (one) => one.edit("/a/b.md", "", "2"),
    (one) => one.edit("/a/b.md", "zwei", "2"),
    (one) => one.edit("/a/b.md", "two", "2", true),
    (one) => one.edit("/none.md", "two", "2"),
    (one) => one.edit("/a/pic.png", "two", "2"),
    (one) => one.write("/empty.md", ""),
    (one) => one.edit("/empty.md", "", "filled"),
    (one) => one.read("/a/b.md", 1, 1),
    (one) => one.read("/none.md"),
    (one) => one.ls("/"),
    (one) => one.glob("**/*.md"),
    (one) => one.grep("2", "/a", "*.md", 1),
    (one) => one.downloadFiles!(["/up.png", "/a/pic.png", "/a/b.md", "/none"]),
    (one) => one.delete!("/a"),
    (one) => one.delete!("/a"),
    (one) => one.ls("/a"),
  ];
  const withoutTimes = (result: unknown): unknown =>
    JSON.parse(JSON.stringify(result, (name, value: unknown) => (name === "modified_at" ? "" : value)));
  const other = new StoreBackend({ store: open().ws.store() });
  for (const [place, step] of steps.entries()) {
    // In turns with the one and the other, on the same files.
    const ours = await step(place % 2 === 0 ? backend : theirs);
    expect(withoutTimes(ours), `step ${place}`).toEqual(withoutTimes(await step(other)));
  }
  await theirs.write("/c.md", "c");
  expect(await backend.readRaw("/c.md")).toEqual(await theirs.readRaw("/c.md"));
  expect((await backend.readRaw("/up.png")).data!.content).toEqual(bytes);
  const legacy = new WorkspaceBackend(ws, { namespace: () => ["old"], fileFormat: "v1" });
  await legacy.write(path, "a\nb");
  await legacy.edit(path, "b", "c");
  expect((await ws.get(["old"], path))!.value["content"]).toEqual(["a", "c"]);
});

test("a role's part of a workspace gives errors that a model can read", async () => {
  const { saver, ws } = open();
  await new WorkspaceBackend(ws, { namespace: ["files"] }).write(path, "draft");
  const reader = ws.as("critic", { read: [["files"]] });
  const backend = new WorkspaceBackend(reader, { namespace: ["files"] });
  const { critic } = await runTeam(backend, saver, {
    critic: (results) => [read, edit("draft", "x"), write("x")].slice(results.length, results.length + 1),
  });
  expect(critic![0]).toContain("draft");
  for (const result of critic!.slice(1))
    expect(result).toMatch(/^Error: Role "critic" has no right to write/);
  expect(await contentIn(backend)).toBe("draft");
});

test("wrong arguments are refused by name", () => {
  const { ws } = open();
  for (const [make, field] of [
    [() => new WorkspaceBackend({} as never), "workspace"],
    [() => new WorkspaceBackend(ws, { store: ws.store() } as never), "store"],
  ] as const)
    expect(make).toThrow(expect.objectContaining({ data: expect.objectContaining({ field }) }));
});
