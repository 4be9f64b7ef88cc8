import { MemoryTier } from "@stratigraph/core";

type Change = (tier: MemoryTier) => Promise<unknown>;

/** Methods that change the storage. */
const changing: ReadonlySet<string> = new Set([
  "append",
  "appendWrites",
  "remove",
  "deleteThread",
  "copyThread",
  "tagThread",
  "untagThread",
  "claimKeyCheck",
]);

/** A storage in memory that can be set back to what it was at a mark: what was done until then is done again on an empty one. */
export interface SetBackTier extends MemoryTier {
  /** How many changes it has seen. */
  readonly mark: number;
  setBack(mark: number): Promise<void>;
}

/** Makes one. */
export function setBackTier(): SetBackTier {
  let changes: Change[] = [];
  let tier = new MemoryTier();
  const setBack = async (mark: number): Promise<void> => {
    const kept = changes.slice(0, mark);
    // What is on its way meanwhile is lost.
    changes = [];
    const before = new MemoryTier();
    for (const change of kept) await change(before);
    [changes, tier] = [kept, before];
  };
  return new Proxy(tier, {
    get(_, name) {
      if (name === "mark") return changes.length;
      if (name === "setBack") return setBack;
      const member: unknown = Reflect.get(tier, name, tier);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        const call = (on: MemoryTier): unknown =>
          (Reflect.get(on, name, on) as (...a: unknown[]) => unknown).apply(on, args);
        if (!changing.has(String(name))) return call(tier);
        const [made, change] = [changes, async (again: MemoryTier): Promise<unknown> => await call(again)];
        made.push(change);
        return (call(tier) as Promise<unknown>).catch((error: unknown) => {
          // What was refused changed nothing.
          made.splice(made.indexOf(change), 1);
          throw error;
        });
      };
    },
  }) as SetBackTier;
}
