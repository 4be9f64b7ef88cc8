import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { available } from "../../../../test/servers/available.ts";
import { runChild } from "../../../../test/servers/children.ts";
import { startNginx, type Nginx } from "../../../../test/servers/nginx.ts";

// The recipe of docs/guides/instances.md, as it stands there, before three processes.

const guide = readFileSync(join(import.meta.dirname, "../../../../docs/guides/instances.md"), "utf8");
const recipe = /^```nginx\n(.*?)^```/ms.exec(guide)?.[1] ?? "";
const script = join(import.meta.dirname, "support/instanceChild.ts");
const threads = Array.from({ length: 60 }, (_, n) => `thread-${n}`);

describe.skipIf(!available.nginx)("nginx, by the recipe of the guide", () => {
  const instances = ["agents-0", "agents-1", "agents-2"].map((name) => ({
    name,
    child: runChild<{ port: number }>(script, [name]),
  }));
  let nginx: Nginx;

  beforeAll(async () => {
    let config = recipe;
    for (const { name, child } of instances) {
      const { port } = await child.message(() => true);
      expect(config).toContain(`server ${name}:8080`);
      config = config.replace(`${name}:8080`, `127.0.0.1:${port}`);
    }
    nginx = await startNginx((port) => config.replace("listen 80;", `listen 127.0.0.1:${port};`));
  });

  afterAll(async () => {
    await nginx?.stop();
    for (const { child } of instances) await child.kill();
  });

  async function served(path: string, threadId?: string): Promise<string> {
    const headers = threadId === undefined ? undefined : { "x-thread-id": threadId };
    const response = await fetch(`${nginx.url}${path}`, {
      method: "POST",
      body: "{}",
      ...(headers === undefined ? {} : { headers }),
    });
    expect(response.status, path).toBe(200);
    return await response.text();
  }

  const places = async (): Promise<Map<string, string>> =>
    new Map(await Promise.all(threads.map(async (id) => [id, await served(`/threads/${id}/runs`)] as const)));

  test("a thread has one instance, by path and by header; one that is killed hands its threads over, and others stay", async () => {
    const before = await places();
    expect(await places()).toEqual(before);
    expect(new Set(before.values())).toEqual(new Set(instances.map(({ name }) => name)));
    for (const id of threads.slice(0, 10)) expect(await served("/chat?stream=1", id)).toBe(before.get(id));
    const withoutThread = await Promise.all(threads.map(() => served("/threads")));
    expect(new Set(withoutThread).size, "requests of no thread are spread").toBe(3);

    await instances[1]!.child.kill();
    const after = await places();
    for (const [id, place] of before)
      if (place === "agents-1") expect(["agents-0", "agents-2"]).toContain(after.get(id));
      else expect(after.get(id)).toBe(place);
  });
});
