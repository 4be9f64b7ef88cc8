import { defineConfig, env } from "stratigraph";

export default defineConfig({
  checkpointer: { postgres: env("DATABASE_URL") },
  graphs: { assistant: "./assistant.ts:graph" },
});
