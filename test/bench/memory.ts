/** Growth of this process's memory since the probe was made, in bytes. */
export interface MemoryProbe {
  /** Takes a sample now; call it often where the event loop is kept busy. */
  sample(): void;
  /** Collects garbage first, so that only what is still referenced counts. */
  sampleLive(): void;
  stop(): { peakHeap: number; peakLive: number };
}

/**
 * Collects garbage, then samples every `intervalMs` until stopped. "Heap" is JavaScript's heap and the
 * buffers outside of it. Needs `--expose-gc`.
 */
export function probeMemory(intervalMs = 10): MemoryProbe {
  collect();
  const base = process.memoryUsage();
  const baseHeap = base.heapUsed + base.external;
  const peak = { peakHeap: 0, peakLive: 0 };
  const sample = (): number => {
    const now = process.memoryUsage();
    const heap = now.heapUsed + now.external - baseHeap;
    peak.peakHeap = Math.max(peak.peakHeap, heap);
    return heap;
  };
  const timer = setInterval(sample, intervalMs);
  return {
    sample,
    sampleLive() {
      collect();
      peak.peakLive = Math.max(peak.peakLive, sample());
    },
    stop() {
      clearInterval(timer);
      sample();
      return peak;
    },
  };
}

function collect(): void {
  if (globalThis.gc === undefined) throw new Error("start Node with --expose-gc");
  // Twice: buffers are released by finalisers that the first collection queues.
  globalThis.gc();
  globalThis.gc();
}
