import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { errorFrom } from "../api/resource.ts";
import { toast } from "../design/Toast.tsx";
import { filled } from "./fill.ts";
import { formatPath, type Step } from "./records.ts";
import type { Root } from "./rows.ts";
import { loadPart, type ValueAt } from "./ValueAt.ts";

/** A value to show: a channel, or a part of one. */
export interface TreeValue {
  readonly channel: string;
  /** The label in front of it. Default: the channel's name. */
  readonly label?: string | undefined;
  readonly path?: readonly Step[] | undefined;
  /** JSON of the serde, as operations cut it. */
  readonly value: unknown;
  readonly note?: string | undefined;
}

/** Identifies a value within one tree. */
export function valueId({ channel, path = [] }: TreeValue): string {
  return JSON.stringify([channel, formatPath(path)]);
}

/** The values as roots, including the parts that were loaded since. */
export function useFilled(values: readonly TreeValue[]) {
  const [loaded, setLoaded] = useState<{
    readonly of: readonly TreeValue[];
    readonly values: ReadonlyMap<string, unknown>;
  }>({ of: values, values: new Map() });
  const current = loaded.of === values ? loaded.values : new Map<string, unknown>();
  const roots = useMemo(
    () =>
      values.map((each): Root => {
        const id = valueId(each);
        const { channel, label = channel, path = [], value, note } = each;
        return { id, label, path, note, value: current.has(id) ? current.get(id) : value };
      }),
    [values, loaded],
  );
  const fill = (id: string, change: (value: unknown) => unknown) =>
    setLoaded((before) => {
      const known = before.of === values ? before.values : new Map<string, unknown>();
      const old = known.has(id) ? known.get(id) : values.find((each) => valueId(each) === id)?.value;
      return { of: values, values: new Map(known).set(id, change(old)) };
    });
  return { roots, fill };
}

/**
 * Loads slices of lists, texts and objects, and fills them in. A slice that is being loaded isn't requested again. An answer that comes
 * too late, because another checkpoint is shown, is dropped.
 */
export function useSlices(
  at: ValueAt | undefined,
  roots: readonly Root[],
  channels: ReadonlyMap<string, string>,
  fill: (id: string, change: (value: unknown) => unknown) => void,
) {
  const asked = useRef(new Set<string>());
  const control = useRef(new AbortController());
  const where = JSON.stringify(at);
  useEffect(() => {
    asked.current = new Set();
    control.current = new AbortController();
    return () => control.current.abort();
  }, [where]);
  return async (
    root: string,
    path: readonly Step[],
    part: { readonly from: number; readonly to: number | undefined },
    maxBytes?: number,
  ): Promise<void> => {
    const key = JSON.stringify([root, formatPath(path), part]);
    if (at === undefined || asked.current.has(key)) return;
    asked.current.add(key);
    const { signal } = control.current;
    try {
      const options = maxBytes === undefined ? { signal } : { signal, maxBytes };
      const value = await loadPart(at, { channel: channels.get(root)!, path }, part, options);
      if (signal.aborted) return;
      const base = roots.find(({ id }) => id === root)?.path;
      fill(root, (old) => filled(old, path, { ...part, value }, base));
      // The parts of it that are still missing can be requested again.
      asked.current.delete(key);
    } catch (thrown) {
      if (!signal.aborted) toast(errorFrom(thrown).message, "red");
    }
  };
}
