import type { Report } from "@stratigraph/cli/operations";
import type { World } from "../simulation/world.ts";
import { Abroad, Elsewhere } from "./abroad.ts";
import type { Channel, Durability } from "./conversation.ts";
import { deedOf, maintain, operate, type Deed, type DeedName, type Scene } from "./deeds.ts";
import { Broken, Oracle } from "./oracle.ts";
import { Player, type Table } from "./player.ts";
import { storages, type Storage, type StorageName } from "./storages.ts";

/** How the thread is when both deeds begin. */
export type Beginning = "new" | "in use" | "archived";

/** Two deeds at the same time, and what they are done on. */
export interface Pair {
  readonly deeds: readonly [DeedName, DeedName];
  readonly storage: StorageName;
  readonly channel: Channel;
  readonly durability: Durability;
  readonly beginning: Beginning;
}

/**
 * Plays a pair: a beginning, both deeds at the same time, calm, everybody goes on, and a look at everything.
 * @param open opens its storage
 */
export async function play(
  world: World,
  pair: Pair,
  open: (world: World) => Storage = storages[pair.storage as keyof typeof storages],
): Promise<void> {
  const { channel, durability } = pair;
  const storage = open(world);
  await storage.prepare?.();
  const encrypted = pair.deeds.includes("reencrypt");
  const table: Table = { world, oracle: new Oracle(), storage, channel, durability, encrypted };
  const [a, b] = [new Player(table, "a"), new Player(table, "b")];
  const thread = "t";
  const imports = pair.deeds.includes("import");
  const [abroad, elsewhere] = [new Abroad(table, thread), new Elsewhere(table)];
  const marks = await world.quietly(async () => {
    if (!imports) return await begin(table, pair, [a, b], thread);
    await abroad.turn();
    return await marksOf(table, pair);
  });
  const copies = new Map<string, number>();
  const scene = { table, thread, marks, copies, abroad, elsewhere };
  const [first, second] = pair.deeds.map(deedOf) as [Deed, Deed];
  const slow = hesitation(world, [a, b]);
  await Promise.all([
    first.act({ ...scene, player: a, other: b } satisfies Scene).finally(slow(a)),
    second.act({ ...scene, player: b, other: a } satisfies Scene).finally(slow(b)),
  ]);
  await world.calm();
  table.oracle.settle();
  if (imports) await abroad.settle();
  const stayed = pair.deeds.includes("move") ? await elsewhere.return(thread, table) : undefined;
  const living = [a, b].filter(({ process }) => process.alive);
  await goOn(table, thread, living);
  await look(table, thread, copies, living, stayed);
}

/** How many values a schedule's first choice has: none hesitates, or one of the first 15 calls of one of both deeds. */
export const hesitations = 31;

/**
 * One of the first calls of one of two deeds may take as long as all of the other deed: chance alone hardly ever lets so much happen in
 * between. @returns what is to be done when a deed has ended
 */
function hesitation(world: World, [a, b]: readonly [Player, Player]): (ended: Player) => () => void {
  const chosen = world.choose(hesitations);
  if (chosen === 0) return () => () => undefined;
  const who = chosen % 2 === 1 ? a : b;
  const { name } = who.process;
  let left = Math.floor((chosen - 1) / 2);
  const held = world.hold(undefined, {
    when: ({ from }) => (from.name === name || from.name.startsWith(`${name}'s `)) && left-- === 0,
  });
  if (world.choose(2) === 1) void held.arrive();
  return (ended) => () => {
    // A call that comes later is held until nobody waits for it any more.
    if (ended !== who) void held.release();
  };
}

/** What was there before: the last turn is a's, and comes after the marks. */
async function begin(
  table: Table,
  pair: Pair,
  [a, b]: readonly [Player, Player],
  thread: string,
): Promise<Map<object, unknown>> {
  const { world } = table;
  const { beginning } = pair;
  const said = async (player: Player): Promise<void> => {
    if (!(await player.turn(thread))) throw new Error("the beginning failed");
  };
  if (beginning !== "new") {
    await said(a);
    await said(b);
    if (beginning === "archived") await maintain(table);
  }
  await world.pass(1000);
  const marks = await marksOf(table, pair);
  if (beginning !== "archived") await said(a);
  await world.pass(1000);
  return marks;
}

/** What is stored now, by server. */
async function marksOf({ storage }: Table, pair: Pair): Promise<Map<object, unknown>> {
  const marks = new Map<object, unknown>();
  if (!pair.deeds.some((name) => name.startsWith("set back"))) return marks;
  for (const server of [...storage.owners, storage.hot])
    if (server !== undefined) marks.set(server, await server.mark());
  return marks;
}

/** Everybody who lives goes on, and a new process: what was lost is said again by who said it. */
async function goOn(table: Table, thread: string, living: readonly Player[]): Promise<void> {
  const { oracle } = table;
  for (const player of [...living, new Player(table, "next")]) {
    const head = await player.head(thread);
    oracle.checkLine(thread, head);
    const [again] = oracle.lostOf(thread, head);
    if (again !== undefined) await insist(player, thread, again);
    await insist(player, thread);
  }
}

/** Says something until it is acknowledged: nothing is in its way any more. */
async function insist(player: Player, thread: string, again?: string): Promise<void> {
  let name = again;
  for (let n = 0; n < 3; n += 1) {
    if (await player.turn(thread, name)) return;
    name = undefined;
  }
  throw new Broken(`${player.process.name} can't go on`);
}

/** What everybody finds at last, before and after maintenance. @param stayed reads what diverged, and so stayed elsewhere */
async function look(
  table: Table,
  thread: string,
  copies: ReadonlyMap<string, number>,
  living: readonly Player[],
  stayed: Player | undefined,
): Promise<void> {
  const { oracle } = table;
  const heads = new Set<string>();
  for (const player of [...living, new Player(table, "reader")]) {
    const head = await player.head(thread);
    oracle.checkLine(thread, head);
    heads.add(head.join(" "));
  }
  if (heads.size > 1) throw new Broken(`Processes read different states: ${[...heads].join(" / ")}`);
  for (let n = 0; n < 2; n += 1) await maintain(table);
  const last = new Player(table, "last reader");
  oracle.checkLast(thread, await last.reading(thread), await stayed?.reading(thread));
  for (const [copy, begun] of copies) oracle.checkCopy(copy, begun, await last.reading(copy));
  await verified(table);
}

/** Verify finds nothing. Where it finds something, repair must not change what can be read. */
async function verified(table: Table): Promise<void> {
  const verifier = new Player(table, "verifier");
  const report = (await verifier.process.run(() => operate(verifier, "verify", {}))) as Report;
  const findings = report.findings.filter(({ severity }) => severity !== "info");
  const told = findings.map(({ kind, severity, meaning }) => `${kind}/${severity}: ${meaning}`);
  if (told.length > 0) throw new Broken(`Verify found ${told.join("; ")}`);
}
