/** Waits for `ms` milliseconds, or until `signal` is aborted. `ref` false: waiting doesn't keep the process alive. */
export async function sleep(ms: number, signal?: AbortSignal, { ref = true } = {}): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    if (!ref) timer.unref();
    signal?.addEventListener("abort", done);
  });
}
