import { PostgresSaver } from "@stratigraph/postgres";

// One of several processes that call setup() at the same moment.
const saver = PostgresSaver.fromConnString(process.argv[2]!);
process.on("message", async () => {
  await saver.setup();
  await saver.end();
  process.disconnect();
});
process.send?.("up");
