import { InvalidOptionError } from "@stratigraph/core";
import {
  checkedAddress,
  checkedCount,
  checkOptions,
  kindOf,
  ttlOf,
  type ItemValue,
  type OptionNames,
} from "@stratigraph/core/internal";
import type { Duration } from "@stratigraph/core";
import type { ItemAddress, VersionCheck, WorkspaceChange } from "@stratigraph/core/tier";
import { inboxNamespace, topicNamespace, type Access } from "./access.ts";
import { checkedName } from "./names.ts";
import type { Parts } from "./parts.ts";

/** A step of {@link Workspace.transact}: has one of these fields. */
export type Step =
  | { readonly check: Address & { /** 0: it has to be absent. */ readonly version: number } }
  | { readonly put: Address & { readonly value: Record<string, unknown> } & ItemOptions }
  | { readonly delete: Address & Pick<ItemOptions, "ifVersion"> }
  | { readonly publish: { readonly topic: string; readonly body: Record<string, unknown> } }
  | { readonly send: { readonly to: string; readonly body: Record<string, unknown> } };

interface Address {
  readonly namespace: readonly string[];
  readonly key: string;
}

interface ItemOptions {
  /** Only if the item has this version, or with 0, if there is none. */
  readonly ifVersion?: number | undefined;
  /** How long the item stays. Default: as the workspace's `ttl` says. */
  readonly ttl?: Duration | undefined;
}

/** A step, checked, with its value serialised. */
export interface CheckedStep {
  readonly checks: readonly VersionCheck[];
  /** Absent: the step only checks. */
  readonly change?: (note: Uint8Array) => Promise<WorkspaceChange>;
  readonly at: ItemAddress;
}

const itemNames = { namespace: true, key: true, ifVersion: true } as const;
const shapes = {
  check: { namespace: true, key: true, version: true },
  put: { ...itemNames, value: true, ttl: true },
  delete: itemNames,
  publish: { topic: true, body: true },
  send: { to: true, body: true },
} as const satisfies Record<string, OptionNames<Record<string, unknown>>>;

/** Checks a step, and copies its value. @throws InvalidOptionError, InvalidAddressError; StratigraphError "ACCESS_DENIED", "SERIALIZATION" */
export function checkedStep(parts: Parts, access: Access, field: string, step: Step): CheckedStep {
  const [kind, ...others] = Object.keys(Object(step)) as (keyof typeof shapes)[];
  if (kind === undefined || others.length > 0 || !Object.hasOwn(shapes, kind))
    throw new InvalidOptionError(
      field,
      kindOf(step),
      `Pass an object with one of ${Object.keys(shapes).join(", ")}.`,
    );
  const inner = (step as unknown as Record<string, unknown>)[kind];
  if (typeof inner !== "object" || inner === null)
    throw new InvalidOptionError(`${field}.${kind}`, kindOf(inner), "Pass an object.");
  checkOptions<object>(`${field}.${kind}`, inner, shapes[kind]);
  if ("publish" in step || "send" in step) {
    const [namespace, body] =
      "publish" in step
        ? [topicNamespace(checkedName(`${field}.publish.topic`, step.publish.topic)), step.publish.body]
        : [inboxNamespace(checkedName(`${field}.send.to`, step.send.to)), step.send.body];
    access.mayPublish(namespace);
    const at = { namespace, key: "" };
    const captured = captureOf(parts, at, "body", body);
    return { at, checks: [], change: async (note) => ({ ...(await captured()), as: "message", note }) };
  }
  if ("check" in step) {
    const at = checkedAddress(step.check);
    access.maySee(at.namespace);
    return { at, checks: [{ ...at, version: checkedCount("version", step.check.version, 0) }] };
  }
  const given = "put" in step ? step.put : step.delete;
  const at = checkedAddress(given);
  access.mayWrite(at.namespace);
  const checks =
    given.ifVersion === undefined ? [] : [{ ...at, version: checkedCount("ifVersion", given.ifVersion, 0) }];
  if (!("put" in step)) return { at, checks, change: async (note) => ({ ...at, note }) };
  const { value, ttl } = step.put;
  const ttlMs = ttl === undefined ? parts.ttl(at.namespace) : ttlOf(ttl)([]);
  const captured = captureOf(parts, at, "value", value);
  return { at, checks, change: async (note) => ({ ...(await captured()), note, ttlMs }) };
}

function captureOf(
  parts: Parts,
  at: ItemAddress,
  field: string,
  value: unknown,
): () => Promise<WorkspaceChange> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new InvalidOptionError(field, kindOf(value), "Pass an object.");
  return parts.coder.capture(at, value as ItemValue);
}
