import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { type Build, load } from "./libraries.ts";
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
  open(place: Place, build: Build): Promise<OpenSaver | undefined>;
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

/** Every saver that is measured; its package is loaded when it is opened. */
export const SAVERS: Record<SaverId, SaverKind> = {
  "official-memory": inMemory("official MemorySaver", "@langchain/langgraph-checkpoint"),
  "official-postgres": inPostgres("official PostgresSaver", "@langchain/langgraph-checkpoint-postgres"),
  memory: inMemory("our MemorySaver", "@stratigraph/core"),
  postgres: inPostgres("our PostgresSaver", "@stratigraph/postgres"),
};

/** Opens the saver `id` of one build; throws where this checkout doesn't have it. */
export async function openSaver(id: SaverId, place: Place, build: Build = "esm"): Promise<OpenSaver> {
  const opened = await SAVERS[id].open(place, build);
  if (opened === undefined) throw new Error(`not in this checkout: ${SAVERS[id].label}`);
  return opened;
}

/** The export `name` of `specifier`, or undefined where the package doesn't export it (yet). */
export async function exported<T>(
  specifier: string,
  name: string,
  build: Build = "esm",
): Promise<T | undefined> {
  return (await load<Record<string, unknown>>(build, specifier))[name] as T | undefined;
}

function inMemory(label: string, specifier: string): SaverKind {
  return {
    label,
    postgres: false,
    open: async (_place, build) => {
      const found = await exported<MemoryClass>(specifier, "MemorySaver", build);
      return found && openMemory(found);
    },
  };
}

function inPostgres(label: string, specifier: string): SaverKind {
  return {
    label,
    postgres: true,
    open: async (place, build) => {
      const found = await exported<PostgresClass>(specifier, "PostgresSaver", build);
      return found && openPostgres(found, place);
    },
  };
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
