const langgraph = require("@langchain/langgraph");
const messages = require("@langchain/core/messages");
const { createCheckpointer } = require("stratigraph");
const { scenario } = require("./scenario.cjs");
const { storages } = require("./storages.cjs");

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
