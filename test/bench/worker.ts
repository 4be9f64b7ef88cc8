// The other end of child.ts: runs one job and sends back what it returns.
const [, , file, input] = process.argv;
if (file === undefined || input === undefined || process.send === undefined)
  throw new Error("worker.ts is started by child.ts");
const { job } = (await import(file)) as { job(input: unknown): Promise<unknown> };
const value = await job(JSON.parse(input));
process.send({ value });
process.disconnect();
