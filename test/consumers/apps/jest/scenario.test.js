const langgraph = require("@langchain/langgraph");
const messages = require("@langchain/core/messages");
const { createCheckpointer } = require("stratigraph");
const { scenario } = require("../scenario.cjs");
const { storages } = require("../storages.cjs");

const opened = storages({ createCheckpointer, folder: process.env.STRATIGRAPH_FOLDER });

test.each(Object.entries(opened))(
  "a graph runs on %s, and every class is the test's own",
  async (_name, storage) => {
    const result = await scenario({ langgraph, messages, ...storage });
    expect(result.foreign).toEqual([]);
    expect(result.found).toEqual(["1: yes", "2: go on"]);
  },
  60_000,
);
