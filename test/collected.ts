import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Collects garbage until nothing holds what `ref` points to. False if something still does after a second. */
export async function isCollected(ref: WeakRef<object>): Promise<boolean> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 20 && ref.deref() !== undefined; round += 1) {
    // Node lets go of some things only after a turn of its event loop.
    await new Promise((resolve) => setTimeout(resolve, 50));
    collect();
  }
  return ref.deref() === undefined;
}
