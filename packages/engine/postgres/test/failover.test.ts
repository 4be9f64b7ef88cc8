import type { RunnableConfig } from "@langchain/core/runnables";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import { StratigraphError } from "@stratigraph/core";
import type { PostgresSaver } from "@stratigraph/postgres";
import { createCheckpointer } from "stratigraph";
import { available } from "../../../../test/servers/available.ts";
import {
  query,
  startPostgres,
  startReplica,
  type PostgresReplica,
  type PostgresServer,
} from "../../../../test/servers/postgres.ts";
import { waitUntil } from "../../../../test/servers/process.ts";
import { suspend } from "../../../../test/servers/suspend.ts";
import { inRounds } from "../../../../test/rounds.ts";
import { at, checkpointOf } from "./support/checkpoints.ts";

// The primary is killed under load, its streaming replica is promoted, and the application goes on by itself: its connection string
// names both.

const writers = 8;
/** How many checkpoints are acknowledged before the primary is killed. */
const loaded = writers * inRounds({ few: 10, all: 50, soak: 200 });

interface Acknowledged {
  readonly threadId: string;
  readonly id: string;
}

/** Puts a checkpoint after the one that `config` names; resolves to its own config. */
async function putStep(
  saver: PostgresSaver,
  config: RunnableConfig,
  step: number,
  said?: string,
): Promise<RunnableConfig> {
  const checkpoint = checkpointOf(
    { step, ...(said === undefined ? {} : { said }) },
    { id: uuid6(step), version: step },
  );
  return await saver.put(config, checkpoint, { source: "loop", step, parents: {} }, { step, said: step });
}

/** Text that is stored as a blob of its own. */
const saidOf = (step: number): string => `what was said in step ${step}. `.repeat(20);

/** Puts one checkpoint after another on threads of its own, and remembers what was acknowledged. */
class Load {
  readonly acknowledged: Acknowledged[] = [];
  /** Checkpoints that this process knew of, and that the storage doesn't: seen as conflicts. */
  conflicts = 0;
  #stopped = false;
  readonly #going: Promise<unknown>;
  #failure: unknown;

  constructor(saver: PostgresSaver, name: string) {
    const writing = Array.from({ length: writers }, (_, n) => this.#write(saver, `${name} ${n}`));
    // A writer that fails is told of by reached() and stop(), and isn't unhandled where a test failed before.
    this.#going = Promise.all(writing).catch((error: unknown) => (this.#failure = error));
  }

  /** Resolves when so many checkpoints were acknowledged. */
  async reached(count: number): Promise<void> {
    await waitUntil(`${count} checkpoints`, () => {
      if (this.#failure !== undefined) return true;
      return this.acknowledged.length >= count;
    });
    if (this.#failure !== undefined) throw this.#failure;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#going;
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #write(saver: PostgresSaver, threadId: string): Promise<void> {
    for (let step = 1; !this.#stopped; step += 1) {
      const before = await saver.getTuple(at(threadId));
      try {
        const { configurable } = await putStep(saver, before?.config ?? at(threadId), step);
        const id = String(configurable?.["checkpoint_id"]);
        this.acknowledged.push({ threadId, id });
      } catch (error) {
        if (!StratigraphError.is(error, "CHECKPOINT_CONFLICT")) throw error;
        this.conflicts += 1;
      }
    }
  }
}

async function lostOf(saver: PostgresSaver, { acknowledged }: Load): Promise<Acknowledged[]> {
  const stored = new Set<string>();
  for (const threadId of new Set(acknowledged.map((each) => each.threadId)))
    for await (const { checkpoint } of saver.list(at(threadId))) stored.add(checkpoint.id);
  return acknowledged.filter(({ id }) => !stored.has(id));
}

describe.skipIf(!available.postgres)("a failover under load", () => {
  let primary: PostgresServer;
  let replica: PostgresReplica;
  let url: string;
  const savers: PostgresSaver[] = [];

  async function open(retryFor: "15s" | "500ms" = "15s", server = url): Promise<PostgresSaver> {
    const saver = await createCheckpointer({ postgres: server, retryFor, setup: false });
    savers.push(saver);
    return saver;
  }

  /** @param standbys what the primary's commits wait for */
  async function start(standbys: string): Promise<void> {
    primary = await startPostgres();
    replica = await startReplica(primary);
    url = `postgres://postgres@127.0.0.1:${primary.port},127.0.0.1:${replica.port}/postgres?target_session_attrs=read-write`;
    // After the copy: the promoted server would wait for a standby that it doesn't have.
    await query(primary.url, `alter system set synchronous_standby_names = '${standbys}'`);
    await query(primary.url, "select pg_reload_conf()");
    await waitUntil("replication", async () => {
      const [row] = await query(primary.url, "select sync_state, state from pg_stat_replication");
      return row?.["state"] === "streaming" && row["sync_state"] === (standbys === "" ? "async" : "sync");
    });
  }

  afterEach(async () => {
    await Promise.all(savers.splice(0).map((saver) => saver.end()));
    await replica?.stop();
    await primary?.stop();
  });

  test("with synchronous replication no acknowledged checkpoint is lost; a primary that comes back is never written to", async () => {
    await start("*");
    const saver = await open();
    await saver.setup();
    const load = new Load(saver, "t");
    await load.reached(loaded);
    await primary.kill();
    const before = load.acknowledged.length;
    await replica.promote();
    await load.reached(before + 2 * writers);
    await load.stop();
    expect(load.conflicts).toBe(0);
    expect(await lostOf(saver, load)).toEqual([]);

    // The one that was killed comes back, and takes writes: it doesn't know of the failover.
    await primary.start();
    const [row] = await query(primary.url, "select pg_is_in_recovery() as standby");
    expect(row).toEqual({ standby: false });
    const impatient = await open("500ms");
    await impatient.getTuple(at("t 0"));
    const dropConnections =
      "select pg_terminate_backend(pid) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()";
    await query(replica.url, dropConnections);
    const after = new Load(impatient, "after");
    await after.reached(2 * writers);
    await after.stop();
    const [promoted, old] = await Promise.all([open("500ms", replica.url), open("500ms", primary.url)]);
    expect(await promoted.getTuple(at("after 0"))).toBeDefined();
    expect(await old.getTuple(at("after 0"))).toBeUndefined();

    await replica.kill();
    // Only the one that was the primary before takes writes now.
    const refused = await impatient.getTuple(at("t 0")).catch((error: unknown) => error);
    expect(StratigraphError.is(refused)).toBe(true);
    expect(String(refused)).toContain("timeline");
  });

  test("without it, what the replica hadn't received is lost, and is noticed as a conflict", async () => {
    await start("");
    const saver = await open();
    await saver.setup();
    const received = await putStep(saver, at("alone"), 1);
    const said = await putStep(saver, at("said"), 1, saidOf(1));
    const load = new Load(saver, "t");
    await load.reached(loaded);
    await replica.caughtUp();
    // A sender that falls behind: what is acknowledged from now on isn't sent.
    const [row] = await query(primary.url, "select pid from pg_stat_replication");
    const sender = row!["pid"] as number;
    suspend(sender);
    const unsent = await putStep(saver, received, 2);
    await putStep(saver, said, 2, saidOf(2));
    const begun = await putStep(saver, at("begun"), 1, saidOf(1));
    await load.reached(load.acknowledged.length + 3 * writers);
    const killed = primary.kill();
    process.kill(sender, "SIGKILL");
    await killed;
    await replica.promote();
    const before = load.acknowledged.length;
    await load.reached(before + 2 * writers);
    await load.stop();
    const lost = await lostOf(saver, load);
    expect(lost.length).toBeGreaterThan(0);
    expect((await saver.getTuple(at("alone")))?.checkpoint.channel_values).toEqual({ step: 1 });
    for (const gone of [unsent, begun])
      await expect(putStep(saver, gone, 3)).rejects.toMatchObject({ code: "CHECKPOINT_CONFLICT" });

    // The same again: this process still remembers it as stored.
    expect(await saver.getTuple(at("begun"))).toBeUndefined();
    await putStep(saver, (await saver.getTuple(at("said")))!.config, 4, saidOf(2));
    await putStep(saver, at("begun"), 4, saidOf(1));
    const other = await open();
    const readBy = async (reader: PostgresSaver) =>
      await Promise.all(
        ["said", "begun"].map(
          async (id) => (await reader.getTuple(at(id)))?.checkpoint.channel_values["said"],
        ),
      );
    expect(await readBy(other)).toEqual([saidOf(2), saidOf(1)]);
    expect(await readBy(saver)).toEqual([saidOf(2), saidOf(1)]);
  });
});
