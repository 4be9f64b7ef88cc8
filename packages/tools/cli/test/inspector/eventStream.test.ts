import { expect, onTestFinished, test, vi } from "vitest";
import { EventStream } from "../../src/inspector/api/eventStream.ts";

test("a stream sends heartbeats while nothing happens, and stops when its reader leaves", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  let ended = 0;
  const stream = new EventStream(() => (ended += 1), 20);
  const reader = stream.response.body!.pipeThrough(new TextDecoderStream()).getReader();
  for (let beats = 0; beats < 3; beats += 1) {
    vi.advanceTimersByTime(20);
    expect((await reader.read()).value).toBe(": still here\n\n");
  }
  stream.send("revision", { thread: "ada" });
  const texts: string[] = [];
  while (!texts.join("").includes("revision")) texts.push((await reader.read()).value!);
  expect(texts.at(-1)).toBe('event: revision\ndata: {"thread":"ada"}\n\n');
  await reader.cancel();
  expect([stream.isOpen, ended]).toEqual([false, 1]);
  // A beat into a stream that nobody reads would throw, out of its timer.
  expect(vi.getTimerCount()).toBe(0);
  stream.end();
  expect(ended).toBe(1);
});

test("a client that reads nothing is disconnected before the waiting events fill the memory", async () => {
  let ended = 0;
  const stream = new EventStream(() => (ended += 1));
  const text = "a".repeat(2 ** 20);
  for (let sent = 0; sent < 15; sent += 1) stream.send("message", text);
  expect([stream.isOpen, ended]).toEqual([true, 0]);
  for (let sent = 0; sent < 2; sent += 1) stream.send("message", text);
  expect([stream.isOpen, ended]).toEqual([false, 1]);
  await expect(stream.response.text()).rejects.toMatchObject({ code: "OVERLOADED" });
});
