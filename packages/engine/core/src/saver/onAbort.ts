const acting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `act` when a signal is aborted. However many callers wait for one signal, it has one listener: Node warns of more than ten.
 * @returns a function that ends the waiting
 */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const acts = acting.get(signal) ?? listenTo(signal);
  // A function of its own, so that a callback that is passed twice acts twice.
  const own = (): void => act();
  acts.add(own);
  return () => void acts.delete(own);
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const acts = new Set<() => void>();
  acting.set(signal, acts);
  signal.addEventListener(
    "abort",
    () => {
      for (const act of acts) act();
    },
    { once: true },
  );
  return acts;
}
