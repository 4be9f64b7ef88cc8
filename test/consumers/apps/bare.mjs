import { MemorySaver } from "@stratigraph/core";

// Core alone, bundled without a banner that brings back require(): the WASM in it asks for nothing around it.
async function main() {
  const saver = new MemorySaver();
  const text = "Bundled. ".repeat(500);
  const written = await saver.put(
    { configurable: { thread_id: "ada" } },
    {
      v: 4,
      id: "1ef4f797-8335-6428-8001-8a1503f9b875",
      ts: new Date().toISOString(),
      channel_values: { text },
      channel_versions: { text: 1 },
      versions_seen: {},
    },
    { source: "input", step: -1, parents: {} },
    { text: 1 },
  );
  const { checkpoint } = await saver.getTuple(written);
  console.log(checkpoint.channel_values.text === text ? "read back" : "differs");
}

main();
