import { createCheckpointer, type CheckpointerConfig } from "stratigraph";
import { account, type AppendOrders } from "./account.ts";

// Appends events, each beside those of other processes, and tells the answers.

const { place, thread, name, own, shared } = JSON.parse(process.argv[2]!) as AppendOrders;
const saver = await createCheckpointer(place as unknown as CheckpointerConfig);
const one = account(saver);
const answers: [key: string, version: number, duplicate: boolean][] = [];
for (let n = 0; n < own + shared; n += 1) {
  const key = n < shared ? `shared ${n}` : `${name} ${n}`;
  const { version, duplicate } = await one.append(
    thread,
    { by: n < shared ? "all" : name, amount: 1 },
    { key },
  );
  answers.push([key, version, duplicate]);
}
// The rest by the version that it saw.
let left = own;
while (left > 0) {
  const { version } = await one.project(thread);
  try {
    const appended = await one.appendIf(thread, version, { by: name, amount: 1 });
    answers.push([`${name} at ${version}`, appended.version, appended.duplicate]);
    left -= 1;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "VERSION_CONFLICT") throw error;
  }
}
await saver.end();
process.send!(answers);
process.disconnect();
