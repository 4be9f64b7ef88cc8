import type { BlobHash, BlobInfo } from "@stratigraph/core/tier";

/** @throws RangeError if a blob is a patch on itself, directly or through others */
export function refuseCircles(infos: readonly BlobInfo[]): void {
  const bases = new Map(infos.map(({ hash, base }) => [hash, base]));
  const ending = new Set<BlobHash>();
  for (const { hash } of infos) {
    const chain = new Set<BlobHash>();
    for (
      let next: BlobHash | undefined = hash;
      next !== undefined && !ending.has(next);
      next = bases.get(next)
    ) {
      if (chain.has(next))
        throw new RangeError(`Blob ${next} is a patch on itself: its chain of patches is a circle.`);
      chain.add(next);
    }
    for (const each of chain) ending.add(each);
  }
}
