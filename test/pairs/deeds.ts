import { fork } from "@stratigraph/branch";
import { StratigraphError } from "@stratigraph/core";
import { operations, runOperation, type Report } from "@stratigraph/cli/operations";
import { testContext } from "../../packages/tools/cli/test/operations/support/testContext.ts";
import type { Abroad, Elsewhere } from "./abroad.ts";
import { conversationOn } from "./conversation.ts";
import { Broken } from "./oracle.ts";
import { Player, type Table } from "./player.ts";

/** What a deed is done with. */
export interface Scene {
  readonly table: Table;
  /** Who does it. */
  readonly player: Player;
  /** Who does the other deed of the pair. */
  readonly other: Player;
  readonly thread: string;
  /** What was stored before the last turn of the beginning, by server. */
  readonly marks: ReadonlyMap<object, unknown>;
  /** Threads that were made meanwhile, and since when. */
  readonly copies: Map<string, number>;
  readonly abroad: Abroad;
  readonly elsewhere: Elsewhere;
}

/** Something that somebody does, or that happens. */
export interface Deed {
  /** Whether the storage must have an archive. */
  readonly archives?: boolean;
  /** How many calls may fail or lose their answers. */
  readonly faults?: number;
  readonly act: (scene: Scene) => Promise<void>;
}

export const monthMs = 30 * 86_400_000;

/** Does one operation of the command line. */
export async function operate(player: Player, name: string, input: object): Promise<unknown> {
  const operation = operations.find((each) => each.name === name)!;
  return await runOperation(operation, input, testContext(player.saver));
}

/** Fails where an operation on several threads tells a failure without a code. */
function refuseUncoded(errors: readonly unknown[]): void {
  for (const error of errors)
    if (!StratigraphError.is(error)) throw new Broken(`An error without a code: ${String(error)}`);
}

/** Maintenance by a process of its own, for which a month has passed. */
export async function maintain(table: Table, name = "keeper"): Promise<void> {
  const keeper = new Player(table, name);
  keeper.process.clockAheadMs = monthMs;
  await keeper.tries("maintains", async () => {
    const { steps } = await keeper.saver.maintain();
    refuseUncoded(steps.flatMap(({ error }) => (error === undefined ? [] : [error])));
  });
}

/** An earlier state of a thread, as somebody picks one from its history. */
async function earlier({ player, table, thread }: Scene) {
  const configs = [];
  const config = { configurable: { thread_id: thread } };
  for await (const state of conversationOn(player.saver, table.channel).getStateHistory(config))
    if (state.next.length === 0) configs.push(state.config);
  return configs[table.world.choose(2) + 1];
}

async function setBack({ table, marks }: Scene, servers: readonly (object | undefined)[]): Promise<void> {
  await pausing(table);
  await table.oracle.harm("lost", undefined, async () => {
    table.world.tell("set back");
    for (const server of [...table.storage.owners, table.storage.hot])
      if (server !== undefined && servers.includes(server)) await server.setBack(marks.get(server));
    return true;
  });
}

/** Some of the time that the other deed takes. */
async function pausing({ world }: Table): Promise<void> {
  await world.pass(1 + 7 * world.choose(8));
}

const away = (): StratigraphError => new StratigraphError("UNAVAILABLE", "The simulated server is away.");

/** Everything that is paired with everything. A new one is a few lines here, and a line of `Harm` where it takes turns away. */
export const deeds = {
  turn: { act: async ({ player, thread }) => void (await player.turn(thread)) },
  "two turns": {
    act: async ({ player, thread }) => {
      for (let n = 0; n < 2; n += 1) await player.turn(thread);
    },
  },
  "stop and send": {
    act: async ({ player, thread }) => {
      await player.stoppedTurn(thread);
      await player.turn(thread);
    },
  },
  read: {
    act: async ({ player, table, thread }) => {
      const reading = await player.tries("reads", () => player.reading(thread));
      if (reading !== undefined) table.oracle.checkLine(thread, reading.head);
    },
  },
  "time travel": {
    act: async (scene) => {
      const { player, table, thread } = scene;
      await table.oracle.harm("rewound", thread, async () => {
        return await player.does("travels", async () => {
          const config = await earlier(scene);
          if (config === undefined) return;
          await conversationOn(player.saver, table.channel).updateState(config, { line: [] }, "b");
        });
      });
    },
  },
  promote: {
    act: async (scene) => {
      const { player, table, thread } = scene;
      await table.oracle.harm("rewound", thread, async () => {
        return await player.does("promotes", async () => {
          const config = await earlier(scene);
          if (config !== undefined) await player.saver.promote(config);
        });
      });
    },
  },
  prune: {
    act: async ({ player, table, thread }) => {
      await table.oracle.harm("pruned", thread, () =>
        player.does("prunes", () => player.saver.prune([thread], { strategy: "keep_latest" })),
      );
    },
  },
  copy: {
    act: async ({ player, table, thread, copies }) => {
      const target = `${thread}-copy`;
      table.oracle.copied(thread, target);
      const begun = table.oracle.moment;
      const done = await player.tries("copies", async () => {
        await player.saver.copyThread(thread, target);
        return true;
      });
      if (done === true) copies.set(target, begun);
    },
  },
  fork: {
    act: async ({ player, table, thread, copies }) => {
      const target = `${thread}-fork`;
      table.oracle.copied(thread, target);
      const begun = table.oracle.moment;
      const done = await player.tries("forks", () => fork(player.saver, thread, { to: target }));
      if (done !== undefined) copies.set(target, begun);
    },
  },
  delete: {
    act: async ({ player, table, thread }) => {
      await deleted(table, thread, () => player.does("deletes", () => player.saver.deleteThread(thread)));
    },
  },
  "begin anew": {
    act: async ({ player, table, thread }) => {
      await deleted(table, thread, () => player.does("deletes", () => player.saver.deleteThread(thread)));
      await player.turn(thread);
    },
  },
  "delete with a report": {
    act: async ({ player, table, thread }) => {
      await deleted(table, thread, () =>
        player.does("deletes", () => player.saver.deleteThreads({ threadIds: [thread] })),
      );
    },
  },
  import: {
    act: async ({ player, abroad }) => {
      const going = abroad.turn();
      await pausing(player.table);
      await abroad.import(player);
      await going;
      await abroad.turn();
    },
  },
  move: {
    act: async ({ player, table, thread, elsewhere }) => {
      await table.oracle.harm("moved", thread, () => elsewhere.move(player, thread));
    },
  },
  maintain: {
    act: async ({ table, player }) => await maintain(table, `${player.process.name}'s keeper`),
  },
  archive: {
    archives: true,
    act: async ({ player, thread }) => {
      await player.tries("archives", () => operate(player, "archive", { thread: [thread] }));
    },
  },
  restore: {
    archives: true,
    act: async ({ player, thread }) => {
      await player.tries("restores", () => operate(player, "restore", { thread: [thread] }));
    },
  },
  reencrypt: {
    act: async ({ table, player, thread }) => {
      const rotating = new Player(table, `${player.process.name}'s key`, "2");
      await rotating.tries("reencrypts", () => rotating.saver.reencrypt({ threadIds: [thread] }));
    },
  },
  verify: {
    act: async ({ player, thread }) => {
      await player.tries("verifies", () => operate(player, "verify", { threads: [thread] }));
    },
  },
  repair: {
    act: async ({ player, thread }) => {
      await player.tries("repairs", async () => {
        const report = (await operate(player, "verify", { threads: [thread] })) as Report;
        await operate(player, "repair", { report, apply: true });
      });
    },
  },
  kill: {
    act: async ({ table, other }) => {
      await pausing(table);
      table.world.tell(`${other.process.name} is killed`);
      other.process.kill();
    },
  },
  suspend: {
    act: async ({ table, other }) => {
      await pausing(table);
      table.world.tell(`${other.process.name} is suspended`);
      other.process.suspend();
      await table.world.pass(120_000);
      other.process.resume();
    },
  },
  "calls fail": { faults: 2, act: async () => undefined },
  "set back": {
    act: async (scene) => {
      const { owners, hot } = scene.table.storage;
      await setBack(scene, [...owners, hot]);
    },
  },
  "set back the owner": {
    archives: true,
    act: async (scene) => await setBack(scene, scene.table.storage.owners),
  },
  expire: {
    act: async ({ table }) => {
      const { owners, hot } = table.storage;
      await pausing(table);
      await table.oracle.harm("lost", undefined, async () => {
        table.world.tell("everything is gone");
        for (const server of [...owners, hot]) await server?.lose();
        return true;
      });
    },
  },
  "lose the hot tier": {
    archives: true,
    act: async ({ table }) => {
      await pausing(table);
      table.world.tell("the hot tier is empty");
      await table.storage.hot!.lose();
    },
  },
  "set back the hot tier": {
    archives: true,
    act: async ({ table, marks }) => {
      await pausing(table);
      table.world.tell("the hot tier is set back");
      await table.storage.hot!.setBack(marks.get(table.storage.hot!));
    },
  },
  "the archive is away": {
    archives: true,
    act: async ({ table }) => {
      const cold = table.storage.cold!;
      cold.away = away();
      await table.world.pass(60_000);
      cold.away = undefined;
    },
  },
} satisfies Record<string, Deed>;

export type DeedName = keyof typeof deeds;

export function deedOf(name: DeedName): Deed {
  return deeds[name];
}

async function deleted(table: Table, thread: string, work: () => Promise<unknown>): Promise<void> {
  await table.oracle.harm("deleted", thread, work);
}
