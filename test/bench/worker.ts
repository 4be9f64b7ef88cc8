// The other end of child.ts: runs one job and sends back what it returns.
const [, , file, input] = process.argv;
if (file === undefined || input === undefined || process.send === undefined)
  throw new Error("worker.ts is started by child.ts");
let done = false;
// Also ends the job when the bench itself was killed: nobody would read its result.
process.once("disconnect", () => process.exit(done ? 0 : 1));
const { job } = (await import(file)) as { job(input: unknown): Promise<unknown> };
// tsx turns source maps on; an application has them off, and errors are slower with them.
process.setSourceMapsEnabled(false);
const value = await job(JSON.parse(input));
done = true;
// Disconnecting ends the process, so do it only after the result has been sent.
process.send({ value }, undefined, undefined, () => process.disconnect());
