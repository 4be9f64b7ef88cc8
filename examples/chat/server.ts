/** A server that speaks the LangGraph API on durable threads, and has a page. DATABASE_URL names the storage, PORT where it listens. */
import { join } from "node:path";
import { serve } from "@hono/node-server";
import { createEmbedServer } from "@langchain/langgraph-api/experimental/embed";
import { build } from "esbuild";
import { Hono } from "hono";
import { createCheckpointer, createThreads, fork } from "stratigraph";
import { agent } from "./agent.ts";
import { passOn } from "./answers.ts";

const { DATABASE_URL = "pglite:.chat", PORT = "0" } = process.env;
// #region threads
const checkpointer = await createCheckpointer(DATABASE_URL);
const threads = createThreads(checkpointer);
const api = createEmbedServer({ graph: { agent }, checkpointer, threads });
// #endregion

const { outputFiles } = await build({
  entryPoints: [join(import.meta.dirname, "page/chat.tsx")],
  bundle: true,
  write: false,
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
});

const app = new Hono()
  .get("/", (c) =>
    c.html('<!doctype html><title>Chat</title><div id="chat"></div><script src="/chat.js"></script>'),
  )
  .get("/chat.js", (c) => c.body(outputFiles[0]!.text, 200, { "content-type": "text/javascript" }))
  // #region edit
  .post("/edit/:thread/:message", async (c) => {
    const { thread, message } = c.req.param();
    const { threadId } = await fork(checkpointer, thread, { message });
    return c.json({ threadId });
  })
  // #endregion
  .mount("/api", (request: Request) => passOn(api, threads, request));

serve({ fetch: app.fetch, port: Number(PORT), hostname: "127.0.0.1" }, ({ port }) => {
  console.log(`http://127.0.0.1:${port}`);
});
