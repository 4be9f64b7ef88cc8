import { TierSaver } from "@stratigraph/core";
import { postgres } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { available } from "../../../../../test/servers/available.ts";
import { startPostgres } from "../../../../../test/servers/postgres.ts";
import { waitUntil } from "../../../../../test/servers/process.ts";
import { demoThreads } from "./support/demoThreads.ts";
import { serve } from "./support/serve.ts";

test.skipIf(!available.postgres)(
  "a database that is killed gives 503, and is shown again once it is back",
  async () => {
    const server = await startPostgres();
    const options = { url: server.url, retryFor: "500ms" } as const;
    const saver = new TierSaver(postgres(options));
    const other = new TierSaver(postgres(options));
    let served;
    try {
      // Opened at the first request, and again after it has failed.
      await server.shutDown("immediate");
      served = await serve({ saver: async () => (await saver.setup(), saver), allow: ["read", "write"] });
      expect((await served.get("/api/_session")).status).toBe(200);
      const early = await served.get("/api/threads");
      expect([early.status, early.body["error"]]).toMatchObject([503, { code: "UNAVAILABLE" }]);
      await server.start();
      await waitUntil("the database", async () => (await served!.get("/api/threads")).status === 200);

      const events = await served.events("/api/_events?thread=ada");
      await events.named("revision");
      await demoThreads(other, ["ada"], { turns: 1 });
      expect((await events.named("revision")).data).toMatchObject({ thread: "ada" });
      await events.named("threads");

      await server.kill();
      const down = await served.get("/api/show?at=ada");
      expect([down.status, down.body["error"]]).toMatchObject([503, { code: "UNAVAILABLE" }]);
      expect((await events.named("storage")).data).toMatchObject({ up: false });
      await server.start();
      expect((await events.named("storage")).data).toEqual({ up: true });
      const shown = await served.get("/api/show?at=ada");
      expect([shown.status, shown.body["thread"]]).toEqual([200, "ada"]);
      await demoThreads(other, ["ada"], { turns: 1 });
      expect((await events.named("revision")).data).toMatchObject({ thread: "ada" });
    } finally {
      await served?.inspector.close();
      await saver.end();
      await other.end();
      await server.stop();
    }
  },
);
