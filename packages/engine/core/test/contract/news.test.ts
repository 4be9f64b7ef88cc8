import { EventEmitter, once } from "node:events";
import { expect, test } from "vitest";
import { StratigraphError } from "../../src/index.ts";
import { News, type NewsWire } from "../../src/internal.ts";
import type { WorkspaceNews } from "../../src/tier.ts";
import { Waiters } from "../../src/contract/waiters.ts";

// Who is woken by what is told on a wire in memory, which can be deaf, be cut and refuse.

const quick = { probe: 5, answer: 20, idle: 20, again: 1, longest: 4 };

class Wire extends EventEmitter<{ text: [string]; cut: []; opened: []; closed: []; sent: [string] }> {
  isDeaf = false;
  open = 0;
  readonly sent: string[] = [];
  /** What sending waits for. */
  held: Promise<void> | undefined;
  refusal: Error | undefined;

  readonly end: NewsWire = {
    send: async (text) => {
      this.sent.push(text);
      this.emit("sent", text);
      await this.held;
      if (this.refusal !== undefined) throw this.refusal;
      if (!this.isDeaf) this.emit("text", text);
    },
    listen: async (hear, over, signal) => {
      const ended = (): void => {
        this.off("text", hear).off("cut", ended);
        signal.removeEventListener("abort", ended);
        this.open -= 1;
        over();
        this.emit("closed");
      };
      this.open += 1;
      this.on("text", hear).on("cut", ended);
      signal.addEventListener("abort", ended);
      this.emit("opened");
    },
  };

  /** How many texts told of commits, and weren't probes. */
  get told(): string[] {
    return this.sent.filter((text) => !text.includes("?"));
  }
}

const unending = (): AbortSignal => new AbortController().signal;

/** Waits until commits of all processes are told of, and then for the next. */
async function hearing(news: News, signal = unending()): Promise<WorkspaceNews> {
  for (;;) {
    const waiting = news.wait("w", signal);
    if (waiting.ofAllProcesses) return waiting;
    await waiting.come;
  }
}

test("a commit wakes who waits for its workspace, here and in other processes, and nobody else", async () => {
  const wire = new Wire();
  const [one, other] = [new News(wire.end, quick), new News(wire.end, quick)];
  const stop = new AbortController();
  const woken: string[] = [];
  const here = one.wait("w", stop.signal).come;
  const there = await hearing(other);
  void other.wait("v", stop.signal).come.then(() => woken.push("v"));
  one.tell("w");
  await Promise.all([here, there.come]);
  await once(wire, "sent");
  expect(woken).toEqual([]);
  await Promise.all([one.end(), other.end()]);
  expect(woken).toEqual(["v"]);
  expect(wire.open).toBe(0);
});

test("what a process told itself doesn't wake it a second time", async () => {
  const wire = new Wire();
  const news = new News(wire.end, quick);
  await hearing(news);
  let release: (() => void) | undefined;
  wire.held = new Promise((resolve) => (release = resolve));
  news.tell("w");
  let isWoken = false;
  void news.wait("w", unending()).come.then(() => (isWoken = true));
  release!();
  while (!wire.sent.at(-1)!.includes("?")) await once(wire, "sent");
  expect(isWoken).toBe(false);
  await news.end();
});

test("a listener that hears nothing never counts, and is closed and tried again", async () => {
  const wire = new Wire();
  wire.isDeaf = true;
  const news = new News(wire.end, quick);
  const { come, ofAllProcesses } = news.wait("w", unending());
  expect(ofAllProcesses).toBe(false);
  await once(wire, "opened");
  await new Promise(setImmediate);
  expect(news.wait("w", unending()).ofAllProcesses).toBe(false);
  for (let n = 0; n < 3; n += 1) {
    await once(wire, "closed");
    expect(news.wait("w", unending()).ofAllProcesses).toBe(false);
  }
  wire.isDeaf = false;
  await come;
  expect(news.wait("w", unending()).ofAllProcesses).toBe(true);
  await news.end();
  expect(wire.open).toBe(0);
});

test.each(["cut", "silent"])(
  "a listener that is %s wakes all, and once more when it hears again",
  async (how) => {
    const wire = new Wire();
    const news = new News(wire.end, quick);
    const waiting = await hearing(news);
    if (how === "cut") wire.emit("cut");
    else wire.isDeaf = true;
    await waiting.come;
    const lost = news.wait("w", unending());
    expect(lost.ofAllProcesses).toBe(false);
    wire.isDeaf = false;
    await lost.come;
    expect(news.wait("w", unending()).ofAllProcesses).toBe(true);
    await news.end();
  },
);

test("one text is on its way at a time: what is told meanwhile goes along with the next", async () => {
  const wire = new Wire();
  const [news, other] = [new News(wire.end, quick), new News(wire.end, quick)];
  await hearing(other);
  const waiting = [0, 99, 5000].map((n) => other.wait(`w${n}`, unending()).come);
  let release: (() => void) | undefined;
  wire.held = new Promise((resolve) => (release = resolve));
  for (let n = 0; n < 100; n += 1) for (let times = 0; times < 3; times += 1) news.tell(`w${n}`);
  expect(wire.told).toHaveLength(1);
  release!();
  await Promise.all(waiting.slice(0, 2));
  expect(wire.told).toHaveLength(2);
  // More names than a text has room for: all look.
  for (let n = 0; n < 5000; n += 1) news.tell(`x${n}`);
  await waiting[2];
  expect(Math.max(...wire.told.map((text) => text.length))).toBeLessThan(8000);
  await Promise.all([news.end(), other.end()]);
});

test("the end sends what is unsent, though one text is under way", async () => {
  const wire = new Wire();
  const [news, other] = [new News(wire.end, quick), new News(wire.end, quick)];
  await hearing(other);
  const waiting = other.wait("late", unending()).come;
  let release: (() => void) | undefined;
  wire.held = new Promise((resolve) => (release = resolve));
  news.tell("early");
  news.tell("late");
  const ended = news.end();
  expect(wire.told).toHaveLength(2);
  release!();
  await Promise.all([ended, waiting]);
  news.tell("after");
  expect(wire.told).toHaveLength(2);
  await other.end();
});

test("who may not tell others isn't refused with each commit", async () => {
  const wire = new Wire();
  wire.refusal = new StratigraphError("ACCESS_DENIED", "no", {});
  const news = new News({ send: wire.end.send }, quick);
  for (let n = 0; n < 5; n += 1) {
    const { come, ofAllProcesses } = news.wait("w", unending());
    news.tell("w");
    await come;
    expect(ofAllProcesses).toBe(false);
    await new Promise(setImmediate);
  }
  expect(wire.told).toHaveLength(1);
  await news.end();
  // Another failure may have passed by the next commit.
  wire.refusal = new StratigraphError("UNAVAILABLE", "no", {});
  const again = new News({ send: wire.end.send }, quick);
  for (let n = 0; n < 2; n += 1) {
    again.tell("w");
    await new Promise(setImmediate);
  }
  expect(wire.told).toHaveLength(3);
  await again.end();
});

test("the listener is closed when nobody waits, and opened again for the next", async () => {
  const wire = new Wire();
  const news = new News(wire.end, quick);
  for (let round = 0; round < 2; round += 1) {
    const stop = new AbortController();
    await hearing(news, stop.signal);
    const closed = once(wire, "closed");
    stop.abort();
    await closed;
    expect(wire.open).toBe(0);
  }
  await news.end();
});

test("who was aborted isn't kept", async () => {
  const waiters = new Waiters();
  const stops = [new AbortController(), new AbortController()];
  const waiting = stops.map((stop) => waiters.wait("w", stop.signal));
  stops[0]!.abort();
  await waiting[0];
  expect(waiters.isEmpty).toBe(false);
  stops[1]!.abort();
  await waiting[1];
  expect(waiters.isEmpty).toBe(true);
  void waiters.wait("v", unending());
  waiters.wakeAll();
  expect(waiters.isEmpty).toBe(true);
});
