import { InvalidOptionError } from "@stratigraph/core";
import type {
  CheckpointerConfig,
  CommonConfig,
  FolderConfig,
  MemoryConfig,
  PostgresConfig,
  RedisConfig,
  StackConfig,
} from "./config.ts";

/** A config whose kind is known. */
export type CheckedConfig =
  | ({ readonly kind: "memory" } & MemoryConfig)
  | ({ readonly kind: "folder" } & FolderConfig)
  | ({ readonly kind: "postgres" } & PostgresConfig)
  | ({ readonly kind: "redis" } & RedisConfig)
  | ({ readonly kind: "warm" } & StackConfig);

type Kind = CheckedConfig["kind"];

const common: readonly (keyof CommonConfig)[] = [
  "setup",
  "serde",
  "conflict",
  "patchMemory",
  "maxValueSize",
  "encryption",
];

/** What each kind takes beside `common`, its own name first. */
const options: Readonly<Record<Kind, readonly string[]>> = {
  memory: ["memory"] satisfies (keyof MemoryConfig)[],
  folder: ["folder", "schema"] satisfies (keyof FolderConfig)[],
  postgres: ["postgres", "schema", "retryFor", "maxQueue"] satisfies (keyof PostgresConfig)[],
  redis: ["redis", "ttl", "refreshOnRead", "keyPrefix", "commandTimeout"] satisfies (keyof RedisConfig)[],
  warm: [
    "warm",
    "hot",
    "cold",
    "replicas",
    "consistency",
    "trustFor",
    "restoreOn",
    "breaker",
    "queue",
  ] satisfies (keyof StackConfig)[],
};

const kinds = Object.keys(options) as Kind[];

/** Tells which kind of config it is. @throws InvalidOptionError on none, several, and options that the kind doesn't have */
export function checkConfig(config: CheckpointerConfig): CheckedConfig {
  if (typeof config !== "object" || config === null) {
    throw new InvalidOptionError(
      "config",
      config,
      'Pass an object, for example { folder: ".stratigraph" } or { postgres: "postgresql://…" }.',
    );
  }
  const given = Object.entries(config).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  const [kind, another] = kinds.filter((name) => given.includes(name));
  if (kind === undefined) {
    const found = given.length === 0 ? "nothing" : given.join(", ");
    const advice = given.some((key) => options.warm.includes(key))
      ? 'A stack needs the tier that owns its threads: add warm, for example warm: "postgresql://…".'
      : `Say where checkpoints are kept: one of ${kinds.join(", ")}.`;
    throw new InvalidOptionError("config", found, advice);
  }
  if (another !== undefined) {
    throw new InvalidOptionError(
      another,
      `${kind} and ${another}`,
      'Checkpoints have one owner. Choose one, or make a stack of { hot, warm, cold }, for example { hot: "redis://…", warm: "postgresql://…" }.',
    );
  }
  const unknown = given.find((key) => ![...common, ...options[kind]].includes(key));
  if (unknown !== undefined) {
    const known = [...options[kind], ...common].join(", ");
    throw new InvalidOptionError(
      unknown,
      typeof Reflect.get(config, unknown),
      `There is no such option beside ${kind}; there are ${known}.`,
    );
  }
  if (config.setup !== undefined && typeof config.setup !== "boolean")
    throw new InvalidOptionError("setup", config.setup, "Pass true or false.");
  return { kind, ...config } as CheckedConfig;
}
