import type { Mutant } from "../mutant.ts";

const src = "packages/engine/tiered/src";
const test = "packages/engine/tiered/test";

export const tieredFaults: readonly Mutant[] = [
  {
    id: "tif01",
    kind: "fault",
    what: "a breaker opens one failure late",
    file: `${src}/breaker.ts`,
    find: "else if (this.#failures < this.#settings.failures) return;",
    replace: "else if (this.#failures <= this.#settings.failures) return;",
    tests: [`${test}/breaker.test.ts`],
  },
  {
    id: "tif02",
    kind: "fault",
    what: "the pause of a dead tier grows without a limit",
    file: `${src}/breaker.ts`,
    find: "Math.min(this.#settings.maxOpenForMs, this.#openForMs * 2)",
    replace: "this.#openForMs * 2",
    tests: [`${test}/breaker.test.ts`],
  },
  {
    id: "tif03",
    kind: "fault",
    what: "while one call tries a dead tier, all others do, too",
    file: `${src}/breaker.ts`,
    find: 'return this.#state === "half-open" || (this.#state === "open"',
    replace: 'return (this.#state === "open"',
    tests: [`${test}/breaker.test.ts`],
  },
  {
    id: "tif04",
    kind: "fault",
    what: "a refusal counts as an outage",
    file: `${src}/breaker.ts`,
    find: "if (isOutage(error)) this.#failed(generation, error);",
    replace: "if (error !== undefined) this.#failed(generation, error);",
    tests: [`${test}/breaker.test.ts`],
  },
  {
    id: "tif05",
    kind: "fault",
    what: "a checkpoint that both tiers have is listed twice",
    file: `${src}/mergeListed.ts`,
    find: "if (told.isNew(listed)) yield listed;",
    replace: "yield listed;",
    tests: [`${test}/archive.test.ts`],
  },
  {
    id: "tif06",
    kind: "fault",
    what: "archived checkpoints come before newer ones",
    file: `${src}/mergeListed.ts`,
    find: "nextA.value.record.checkpointId >= nextB.value.record.checkpointId",
    replace: "nextA.value.record.checkpointId <= nextB.value.record.checkpointId",
    tests: [`${test}/archive.test.ts`],
  },
  {
    id: "tif07",
    kind: "fault",
    what: "the list of a hot tier gives more than its limit",
    file: `${src}/boundedMemoryTier.ts`,
    find: "left -= 1;",
    replace: "",
    tests: [`${test}/memory.test.ts`],
  },
  {
    id: "tif08",
    kind: "fault",
    what: "newest threads come last",
    file: `${src}/boundedMemoryTier.ts`,
    find: 'const direction = query.order === "newest" ? -1 : 1;',
    replace: "const direction = 1;",
    tests: [`${test}/memory.test.ts`],
  },
];
