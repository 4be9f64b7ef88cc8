import { formatTable } from "./format.ts";

/** Measured figures that costs are made of. Sizes in bytes. */
export interface CostFigures {
  readonly threads: number;
  readonly checkpoints: number;
  /** All of them: in PostgreSQL with tables and indexes, in S3, in Redis while they are in use. */
  readonly warmBytes: number;
  readonly coldBytes: number;
  readonly redisBytes: number;
  /** Requests that archiving all of them took. */
  readonly puts: number;
  readonly gets: number;
  /** Requests that resuming one thread takes. */
  readonly resumeRequests: number;
}

/**
 * Assumed list prices in US dollars: AWS, us-east-1, on demand, as they stood in 2025. Nobody's discount, tax, free tier or
 * traffic between zones; compute of PostgreSQL is left out, because it is there anyway.
 */
export const PRICES = {
  /** Redis: a cache.r7g.large node, per hour, and its memory in GB. */
  redisNodeHour: 0.219,
  redisNodeGb: 13.07 * 1.073741824,
  hoursPerMonth: 730,
  /** PostgreSQL: gp3 storage of RDS in one zone, per GB and month. */
  postgresGbMonth: 0.115,
  /** S3 Standard, per GB and month, and per request. */
  s3GbMonth: 0.023,
  s3Put: 0.005 / 1000,
  s3Get: 0.0004 / 1000,
} as const;

const million = 1_000_000;
const gb = 1e9;

/** One line of the arithmetic. */
interface Line {
  readonly what: string;
  readonly how: string;
  readonly usd: number;
}

/** What a million checkpoints cost, line by line, in US dollars. */
export function costLines(
  figures: CostFigures,
): Record<"redis" | "postgres" | "s3" | "moving" | "resuming", Line> {
  const { threads, checkpoints, warmBytes, coldBytes, redisBytes, puts, gets, resumeRequests } = figures;
  const perMillion = (bytes: number): number => ((bytes / checkpoints) * million) / gb;
  const each = (bytes: number): string =>
    `${Math.round(bytes / checkpoints)} B × 1,000,000 = ${short(perMillion(bytes))} GB`;
  const redisGbMonth = (PRICES.redisNodeHour * PRICES.hoursPerMonth) / PRICES.redisNodeGb;
  const threadsPerMillion = (threads / checkpoints) * million;
  const [putsPer, getsPer] = [puts / threads, gets / threads];
  const inThreads = `${Math.round(threadsPerMillion).toLocaleString("en-US")} threads`;
  return {
    redis: {
      what: "Redis, if all of it were in use at once, per month",
      how: `${each(redisBytes)} × $${short(redisGbMonth)}`,
      usd: perMillion(redisBytes) * redisGbMonth,
    },
    postgres: {
      what: "PostgreSQL, per month",
      how: `${each(warmBytes)} × $${PRICES.postgresGbMonth}`,
      usd: perMillion(warmBytes) * PRICES.postgresGbMonth,
    },
    s3: {
      what: "S3, per month",
      how: `${each(coldBytes)} × $${PRICES.s3GbMonth}`,
      usd: perMillion(coldBytes) * PRICES.s3GbMonth,
    },
    moving: {
      what: "moving them to S3, once",
      how: `${inThreads} × (${short(putsPer)} PUT × $${perThousand(PRICES.s3Put)} + ${short(getsPer)} GET × $${perThousand(PRICES.s3Get)}) / 1,000`,
      usd: threadsPerMillion * (putsPer * PRICES.s3Put + getsPer * PRICES.s3Get),
    },
    resuming: {
      what: "resuming every one of these threads, once",
      how: `${inThreads} × ${resumeRequests} GET × $${perThousand(PRICES.s3Get)} / 1,000`,
      usd: threadsPerMillion * resumeRequests * PRICES.s3Get,
    },
  };
}

/** docs/costs.md, made of measured figures alone. */
export function costsDocument(figures: CostFigures): string {
  const lines = costLines(figures);
  const { redisNodeHour, postgresGbMonth, s3GbMonth, s3Put, s3Get } = PRICES;
  const monthsToPay = lines.moving.usd / (lines.postgres.usd - lines.s3.usd);
  const prices = formatTable({
    title: "Prices",
    columns: ["", "assumed"],
    rows: [
      [
        "Redis",
        `a cache.r7g.large node, $${redisNodeHour} an hour, ${short(PRICES.redisNodeGb)} GB of memory`,
      ],
      ["PostgreSQL", `gp3 storage, $${postgresGbMonth} per GB and month; the server is there anyway`],
      ["S3 Standard, stored", `$${s3GbMonth} per GB and month`],
      [
        "S3 Standard, requests",
        `$${perThousand(s3Put)} per 1,000 PUT or LIST, $${perThousand(s3Get)} per 1,000 GET`,
      ],
    ],
    notes: [
      "AWS, us-east-1, on demand, list prices as they stood in 2025. An assumption: put in your own.",
      "Without discounts, free tier, traffic between zones, backups and replicas.",
    ],
  });
  const costs = formatTable({
    title: "A million checkpoints",
    columns: ["", "arithmetic", "US dollars"],
    rows: Object.values(lines).map(({ what, how, usd }) => [what, how, short(usd)]),
    notes: [
      `A month in S3 costs 1/${short(lines.postgres.usd / lines.s3.usd)} of a month in PostgreSQL; what moving costs is back after ${short(monthsToPay)} months.`,
      "Requests are per thread, and a long thread compresses better (benchmarks.md): fewer and longer threads cost less.",
      "Not in the table: with `retain` the bucket is listed a hundred times in that time, one LIST per 1,000 objects; and every process that maintains looks once for every deleted thread, with one GET.",
      "Infrequent-access classes bill at least 128 kB per object. Most short threads are smaller, so `storageClass` pays for long threads only.",
    ],
  });
  return [
    "# What a million checkpoints cost",
    "",
    `Written by \`pnpm bench --write\`, of bytes and requests that it measured on ${figures.threads} recorded conversations, each on a thread of its own: ${figures.checkpoints} checkpoints.`,
    "",
    prices,
    "",
    costs,
    "",
    `<!-- Measured figures, from which the rest is computed: ${JSON.stringify(figures)} -->`,
    "",
  ].join("\n");
}

/** The figures that a document was made of. Throws where it names none. */
export function costFiguresIn(document: string): CostFigures {
  const found = /is computed: (\{.*\}) -->/.exec(document)?.[1];
  if (found === undefined) throw new Error("the document names no figures");
  return JSON.parse(found) as CostFigures;
}

/** Of a bench's figures; undefined where it didn't measure them. */
export function costFiguresOf(figures: ReadonlyMap<string, number>): CostFigures | undefined {
  const names = {
    threads: "archive.many.threads",
    checkpoints: "archive.many.checkpoints",
    warmBytes: "archive.many.warmBytes",
    coldBytes: "archive.many.coldBytes",
    redisBytes: "archive.redisBytes",
    puts: "archive.many.puts",
    gets: "archive.many.gets",
    resumeRequests: "archive.resume.requests",
  } satisfies Record<keyof CostFigures, string>;
  const entries = Object.entries(names).map(([field, name]) => [field, figures.get(name)] as const);
  if (entries.some(([, value]) => value === undefined)) return undefined;
  return Object.fromEntries(entries) as unknown as CostFigures;
}

function short(value: number): string {
  return String(Number(value.toPrecision(3)));
}

function perThousand(price: number): string {
  return short(price * 1000);
}
