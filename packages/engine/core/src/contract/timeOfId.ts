/** When an id was made, if it is a UUID of version 6, as LangGraph makes them: milliseconds since 1970. Undefined for other ids. */
export function timeOfId(id: string): number | undefined {
  const found = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-[0-9a-f]{4}-[0-9a-f]{12}$/.exec(id);
  if (found === null) return undefined;
  // In steps of 100 ns since the Gregorian calendar began, in 1582.
  const steps = BigInt(`0x${found.slice(1).join("")}`);
  return Number(steps / 10n - 12_219_292_800_000_000n) / 1000;
}
