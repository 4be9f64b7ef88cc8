import { importThreads, moveThreads, openSource } from "@stratigraph/migrate";
import { PostgresSaver } from "@stratigraph/postgres";

/** What the program tells of how far it is. */
export interface CopyMessage {
  readonly threads: number;
}

// Copies threads until it is killed: `import` of the official saver's tables, or `move` from one schema of ours to another.
const [how, url, schema] = process.argv.slice(2) as [string, string, string];
const to = PostgresSaver.fromConnString(url, { schema });
const onProgress = ({ threads }: CopyMessage): void => void process.send!({ threads });
// Whoever runs it to its end verifies all of it.
const options = { onProgress, verify: false };

if (how === "import") {
  const source = await openSource(`official+${url}`);
  await importThreads(source, to, options);
  await source.close();
} else {
  const from = PostgresSaver.fromConnString(url);
  await moveThreads(from, to, options);
  await from.end();
}
await to.end();
process.disconnect();
