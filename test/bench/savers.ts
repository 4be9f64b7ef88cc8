import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { SaverId } from "./types.ts";

/** A saver ready for calls. */
export interface OpenSaver {
  saver: BaseCheckpointSaver;
  close(): Promise<void>;
}

/** Where a saver keeps its data; savers in memory ignore it. */
export interface Place {
  url: string;
  schema: string;
}

interface SaverKind {
  label: string;
  /** True where the saver keeps its data in PostgreSQL. */
  postgres: boolean;
  /** Resolves to undefined where this checkout doesn't have the saver. */
  open(place: Place): Promise<OpenSaver | undefined>;
}

/** The subset of the classes that is used here, as our packages and the official ones export them. */
interface MemoryClass {
  new (): BaseCheckpointSaver;
}
interface PostgresClass {
  fromConnString(
    url: string,
    options: { schema: string },
  ): BaseCheckpointSaver & { setup(): Promise<unknown>; end(): Promise<unknown> };
}

/** Every saver that is measured. Ours are loaded when they are opened, so that the bench runs without them. */
export const SAVERS: Record<SaverId, SaverKind> = {
  "official-memory": {
    label: "official MemorySaver",
    postgres: false,
    open: async () => openMemory(MemorySaver),
  },
  "official-postgres": {
    label: "official PostgresSaver",
    postgres: true,
    open: async (place) => openPostgres(PostgresSaver, place),
  },
  memory: {
    label: "our MemorySaver",
    postgres: false,
    open: async () => {
      const found = await exported<MemoryClass>("@stratigraph/core", "MemorySaver");
      return found && openMemory(found);
    },
  },
  postgres: {
    label: "our PostgresSaver",
    postgres: true,
    open: async (place) => {
      const found = await exported<PostgresClass>("@stratigraph/postgres", "PostgresSaver");
      return found && openPostgres(found, place);
    },
  },
};

/** Opens the saver `id`; throws where this checkout doesn't have it. */
export async function openSaver(id: SaverId, place: Place): Promise<OpenSaver> {
  const opened = await SAVERS[id].open(place);
  if (opened === undefined) throw new Error(`not in this checkout: ${SAVERS[id].label}`);
  return opened;
}

/** The export `name` of `specifier`, or undefined where the package doesn't export it (yet). */
export async function exported<T>(specifier: string, name: string): Promise<T | undefined> {
  const module = (await import(specifier)) as Record<string, unknown>;
  return module[name] as T | undefined;
}

function openMemory(Saver: MemoryClass): OpenSaver {
  return { saver: new Saver(), close: async () => {} };
}

async function openPostgres(Saver: PostgresClass, { url, schema }: Place): Promise<OpenSaver> {
  const saver = Saver.fromConnString(url, { schema });
  await saver.setup();
  return {
    saver,
    close: async () => {
      await saver.end();
    },
  };
}
