import * as messages from "@langchain/core/messages";
import * as langgraph from "@langchain/langgraph";
import { createCheckpointer } from "stratigraph";
import { scenario } from "./scenario.cjs";
import { storages } from "./storages.cjs";

// No top-level await: this is bundled to CommonJS as well, which has none.
async function main() {
  const [folder] = process.argv.slice(2);
  const results = {};
  for (const [name, storage] of Object.entries(
    storages({ createCheckpointer, folder, postgres: process.env.DATABASE_URL }),
  ))
    results[name] = await scenario({ langgraph, messages, ...storage });
  console.log(JSON.stringify(results));
}

main();
