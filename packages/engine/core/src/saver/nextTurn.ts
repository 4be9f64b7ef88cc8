/** Resolves once what is due at the moment has been done: callbacks of promises, and answers that have arrived. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
