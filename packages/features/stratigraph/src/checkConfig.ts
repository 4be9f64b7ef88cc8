import { InvalidOptionError } from "@stratigraph/core";
import {
  checkOptions,
  didYouMean,
  saverOptionAdvice,
  saverOptionNames,
  shownName,
  type OptionAdvice,
  type OptionNames,
} from "@stratigraph/core/internal";
import type { CheckpointerConfig, CommonConfig, ConfigsByKind } from "./config.ts";

type Kind = keyof ConfigsByKind;

/** A config whose kind is known. */
export type CheckedConfig = {
  [Name in Kind]: { readonly kind: Name; readonly config: ConfigsByKind[Name] };
}[Kind];

const commonNames: OptionNames<CommonConfig> = { setup: true, readThrough: true, ...saverOptionNames };

/** The options that each kind has besides the common ones. */
const ownNames: { readonly [Name in Kind]: OptionNames<Omit<ConfigsByKind[Name], keyof CommonConfig>> } = {
  memory: { memory: true },
  pglite: { pglite: true, schema: true, statementTimeout: true, maxCalls: true },
  postgres: { postgres: true, schema: true, retryFor: true, statementTimeout: true, maxCalls: true },
  redis: { redis: true, ttl: true, refreshOnRead: true, prefix: true, commandTimeout: true },
  warm: {
    warm: true,
    hot: true,
    cold: true,
    replicas: true,
    consistency: true,
    trustFor: true,
    restoreOn: true,
    adaptiveTtl: true,
    breaker: true,
    queue: true,
    drainFor: true,
    endFor: true,
    archiveAfter: true,
    deleteArchivedAfter: true,
    parallel: true,
  },
};

const kinds = Object.keys(ownNames) as Kind[];

/** For each kind: what to pass if its value is undefined. */
const examples: Readonly<Record<Kind, string>> = {
  memory: "Pass true.",
  pglite: 'Pass the path of a folder, for example ".stratigraph".',
  postgres:
    'Pass a connection string, for example "postgresql://user:password@host:5432/database", or a pg.Pool.',
  redis: 'Pass a URL, for example "redis://host:6379", or a client of ioredis.',
  warm: 'Pass a tier or a URL, for example "postgresql://…".',
};

/** What to write instead of names of options that other savers and drivers have. */
const advice: OptionAdvice = {
  ...saverOptionAdvice,
  defaultTTL: 'Write ttl with its unit: ttl: "60m" for 60 minutes.',
  keyPrefix: "Write prefix.",
  ssl: "Pass a pg.Pool of your own as postgres.",
  max: "Pass a pg.Pool of your own as postgres.",
};

/** Advice for options that this kind doesn't have, but another kind has. */
function adviceOf(kind: Kind): OptionAdvice {
  const others = kinds
    .filter((other) => other !== kind)
    .flatMap((other) => Object.keys(ownNames[other]).map((name) => [name, other] as const))
    .filter(([name]) => !Object.hasOwn(ownNames[kind], name))
    .map(([name, other]): [string, string] => [
      name,
      kind === "warm" && other !== "pglite"
        ? `It belongs to one tier: make it with postgres({ … }) or redis({ … }); a Redis URL may have it, "redis://host?ttl=15m".`
        : `It is an option of { ${other} }.`,
    ]);
  return { ...Object.fromEntries(others), ...advice };
}

/** Finds the kind of a config. @throws InvalidOptionError if it has none, several, or options that the kind doesn't have */
export function checkConfig(config: CheckpointerConfig): CheckedConfig {
  if (typeof config !== "object" || config === null || Array.isArray(config)) {
    throw new InvalidOptionError(
      "config",
      // Don't show the value: it may be a connection string with a password.
      config === null ? "null" : Array.isArray(config) ? "an array" : typeof config,
      'Pass an object, for example { pglite: ".stratigraph" } or { postgres: "postgresql://…" }. ' +
        "If it comes from an environment variable, that one isn't set.",
    );
  }
  const given = Object.entries(config).flatMap(([key, value]) => (value === undefined ? [] : [key]));
  const [kind, another] = kinds.filter((name) => given.includes(name));
  if (kind === undefined) throw noKind(config, given);
  if (another !== undefined) {
    throw new InvalidOptionError(
      another,
      `${kind} and ${another}`,
      'Checkpoints have one owner. Choose one, or make a stack of { hot, warm, cold }, for example { hot: "redis://…", warm: "postgresql://…" }.',
    );
  }
  const names = { ...ownNames[kind], ...commonNames } as OptionNames<CheckpointerConfig>;
  checkOptions(`createCheckpointer({ ${kind} })`, config, names, adviceOf(kind));
  if (config.setup !== undefined && typeof config.setup !== "boolean")
    throw new InvalidOptionError("setup", typeof config.setup, "Pass true or false.");
  return { kind, config } as CheckedConfig;
}

function noKind(config: object, given: readonly string[]): InvalidOptionError {
  const unset = kinds.find((name) => name in config);
  if (unset !== undefined) {
    const advice = `${examples[unset]} If it comes from an environment variable, that one isn't set.`;
    return new InvalidOptionError(unset, "undefined", advice);
  }
  if (given.some((key) => Object.hasOwn(ownNames.warm, key))) {
    const advice =
      'A stack needs the tier that owns its threads: add warm, for example warm: "postgresql://…".';
    return new InvalidOptionError("config", given.map(shownName).join(", "), advice);
  }
  const meant = given.includes("folder")
    ? "An embedded database in a folder is { pglite }."
    : given.flatMap((key) => didYouMean(key, kinds) ?? [])[0];
  return new InvalidOptionError(
    "config",
    given.length === 0 ? "nothing" : given.map(shownName).join(", "),
    `${meant === undefined ? "" : `${meant} `}Say where checkpoints are kept: one of ${kinds.join(", ")}.`,
  );
}
