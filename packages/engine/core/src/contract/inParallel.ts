/**
 * Works on items, so many at a time. After a failure, or once the signal is aborted, no other item is begun.
 * @param most how many at a time
 * @throws the first error, once all that began have ended
 */
export async function inParallel<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<unknown>,
  signal?: AbortSignal,
): Promise<void> {
  const queue = items.values();
  let failed: { readonly error: unknown } | undefined;
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      if (failed !== undefined || signal?.aborted === true) return;
      try {
        await work(item);
      } catch (error) {
        failed ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, worker));
  if (failed !== undefined) throw failed.error;
}
