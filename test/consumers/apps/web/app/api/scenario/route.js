import * as messages from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import { createCheckpointer } from "stratigraph";
import { scenario } from "../../../../scenario.cjs";
import { storages } from "../../../../storages.cjs";

// Per request, not when the application is built.
export const dynamic = "force-dynamic";

export async function GET() {
  const results = {};
  for (const [name, storage] of Object.entries(
    storages({ createCheckpointer, postgres: process.env.DATABASE_URL }),
  ))
    results[name] = await scenario({ langgraph, messages, ...storage });
  return Response.json(results);
}
