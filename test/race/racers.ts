import { runChild, type ChildExit } from "../servers/children.ts";
import type { RaceMessage, RaceOrder } from "./racer.ts";

/** How a run of a racer ended. */
export type RaceResult = Extract<RaceMessage, { type: "done" }>;

/** Two processes that race on one thread, round by round. */
export interface Racers {
  /** One race: what each of the two came to. */
  run(round: number): Promise<RaceResult[]>;
  /** Has both end, and tells how they did. */
  end(): Promise<ChildExit[]>;
}

/** Starts two processes of a program that calls `race` of racer.ts, and waits until they are up. */
export async function startRacers(script: string, argsOfEach: readonly string[][]): Promise<Racers> {
  const children = argsOfEach.map((args) => runChild<RaceMessage>(script, args));
  const sendAll = (order: RaceOrder) => {
    for (const child of children) child.send(order);
  };
  await Promise.all(children.map((child) => child.message(({ type }) => type === "up")));
  return {
    run: async (round) => {
      const each = (type: "read" | "done") =>
        Promise.all(children.map((child) => child.message((m) => m.type === type && m.round === round)));
      sendAll({ run: round });
      await each("read");
      sendAll("start");
      const results = (await each("done")) as RaceResult[];
      for (const child of children) child.messages.length = 0;
      return results;
    },
    end: async () => {
      sendAll("end");
      return await Promise.all(children.map(({ exit }) => exit));
    },
  };
}
