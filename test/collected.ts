import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects all garbage of this process, at once. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

/** Collects garbage until nothing holds what `ref` points to. False if something still does after many. */
export async function isCollected(ref: WeakRef<object>): Promise<boolean> {
  for (let round = 0; round < 200 && ref.deref() !== undefined; round += 1) {
    // Node lets go of some things only after a turn of its event loop.
    await new Promise((resolve) => setTimeout(resolve, 50));
    collectGarbage();
  }
  return ref.deref() === undefined;
}
