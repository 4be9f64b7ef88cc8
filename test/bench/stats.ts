/** The value below which the share `p` (0 to 1) of the samples lies; NaN without samples. */
export function percentile(samples: readonly number[], p: number): number {
  if (samples.length === 0) return Number.NaN;
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

/** The middle sample. */
export function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}
