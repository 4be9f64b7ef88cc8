import { createHash } from "node:crypto";
import { canonical, describing } from "./canonical.ts";

/** SHA-256 in 64 lower-case hex digits. */
export type Digest = string;

/** What a tool is called. */
export interface NamedTool {
  readonly tool: string;
  /** A version of the tool; null for none. A call of another version isn't the same call. */
  readonly version: string | null;
}

/** What identifies a call: its content, and the calls before it. */
export interface CallIdentity extends NamedTool {
  /** The arguments as the caller gave them: JSON, before the tool's schema fills in defaults. */
  readonly args: unknown;
  /** The chain's head before the call; `""` at its root. Calls of one message share it. */
  readonly previous: string;
  /** How many equal calls (same tool, version and arguments) precede this one in the same message or task. */
  readonly nth: number;
}

/** The digest of a name that code gives a call. @param parts other data that distinguishes it, such as the surrounding call */
export function digestOfName(...parts: readonly (string | null)[]): Digest {
  return sha256(canonical(["name/1", ...parts]));
}

/** The fingerprint of a call that code named. @param previous its {@link digestOfName} */
export function fingerprintOfNamed(previous: Digest, nth: number, beside: number): Digest {
  return sha256(canonical(["run/1", previous, nth, beside]));
}

/** A call as a model asks for it. */
export interface RequestedCall {
  readonly name: string;
  readonly args: unknown;
}

export function sha256(text: string): Digest {
  return createHash("sha256").update(text).digest("hex");
}

/** The digest of any value, for comparing. */
export function digestOf(value: unknown): Digest {
  return sha256(describing(value));
}

/** Arguments that aren't JSON have a fingerprint, too: a model's message with such a call has a place in the chain, and the call is refused. */
export function fingerprintOf({ tool, version, args, previous, nth }: CallIdentity): Digest {
  return digestOf(["call/1", tool, version, args, previous, nth]);
}

/**
 * The fingerprints of all calls of one message, in their order. All have the same `previous`: parallel calls have no order, so a model that
 * repeats them in another order finds them again.
 * @param nameOf what a tool was called at first, so that a chain is the same before and after its tool was renamed
 */
export function fingerprintsOf(
  calls: readonly RequestedCall[],
  previous: string,
  nameOf: (tool: string) => NamedTool,
): Digest[] {
  const before = new Map<string, number>();
  return calls.map(({ name, args }) => {
    const { tool, version } = nameOf(name);
    const key = describing([tool, version, args]);
    const nth = before.get(key) ?? 0;
    before.set(key, nth + 1);
    return fingerprintOf({ tool, version, args, previous, nth });
  });
}

/** The chain's head after the calls of one message: for a single call, its fingerprint. Without calls it is unchanged. */
export function headAfter(previous: string, fingerprints: readonly Digest[]): string {
  if (fingerprints.length === 0) return previous;
  if (fingerprints.length === 1) return fingerprints[0]!;
  return sha256(canonical(["batch/1", fingerprints.toSorted()]));
}

/**
 * Where the chain of a subgraph begins. The root graph's begins with `""`.
 * @param namespace the subgraph's, without the ids of tasks, which differ in every run
 * @param origin its caller: the fingerprint of the call whose tool runs it, or else the digest of its input
 */
export function rootOfChain(namespace: string, scope: string | null, origin: string): string {
  if (namespace === "" && scope === null) return "";
  return sha256(canonical(["root/1", namespace, scope, origin]));
}
