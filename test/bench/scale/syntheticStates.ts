import { bytes, ms } from "../format.ts";
import type { ScenarioInput, ScenarioResult } from "../jobs/putScenario.ts";
import type { ScenarioName } from "../scenarios.ts";
import type { BenchContext, Table } from "../types.ts";

const JOB = new URL("../jobs/putScenario.ts", import.meta.url);

interface Row {
  label: string;
  scenario: ScenarioName;
  startTurns: number;
  puts: number;
  gets: number;
}

const GROWING: Row = { label: "500 turns, growing", scenario: "growing", startTurns: 1, puts: 499, gets: 15 };

/** The last state of GROWING as one text, compressed by `zstd -19`. It is also everything that was ever appended. */
const FLOOR = {
  stateDigest: "e88d7473bc841587ed41d8ce1e8fa7d3860e1847fa1fa58fc96df6f090166047",
  bytes: 596_501,
};

const ROWS: Row[] = [
  GROWING,
  ...(
    [
      "one old message rewritten",
      "six scattered edits",
      "oldest turn trimmed",
      "half summarised every 20th put",
    ] as const
  ).map((scenario) => ({ label: scenario, scenario, startTurns: 200, puts: 100, gets: 15 })),
  { label: "embeddings as numbers", scenario: "embeddings as numbers", startTurns: 10, puts: 50, gets: 15 },
  {
    label: "embeddings as Float32Array",
    scenario: "embeddings as Float32Array",
    startTurns: 10,
    puts: 50,
    gets: 15,
  },
  { label: "5 MB, growing", scenario: "growing", startTurns: 1025, puts: 10, gets: 5 },
  { label: "50 MB, growing", scenario: "growing", startTurns: 10_250, puts: 3, gets: 3 },
];

/** Synthetic states put and read one by one, without a graph. */
export async function syntheticStates(context: BenchContext): Promise<Table> {
  const rows: string[][] = [];
  const notes = [
    "“Payload” is the contents of bytea columns (ids, hashes, records, whole blobs and patches) without PostgreSQL's overhead; " +
      "“stored” has all of it. Both are per put, without the first one, which holds the state that the thread starts with.",
    "“Cold” is getTuple by a saver that has just been opened. Every cold read is compared with what was put.",
  ];
  for (const [index, row] of ROWS.entries()) {
    const size = context.options.quick ? shrunk(row) : row;
    const input: ScenarioInput = {
      saver: "postgres",
      url: context.postgresUrl,
      schema: `scale_${index}`,
      ...size,
    };
    const result = await context.inChild<ScenarioResult>(JOB, input).catch((error: unknown) => {
      context.failed(row.label, error);
    });
    if (result === undefined) {
      rows.push([row.label, ...Array<string>(8).fill("failed")]);
      continue;
    }
    rows.push(cells(row.label, result));
    if (row === GROWING) notes.push(growth(context, size, result));
  }
  return {
    title: context.options.quick ? "Synthetic states, shrunk by --quick" : "Synthetic states",
    columns: [
      "",
      "last state",
      "first put",
      "put p50",
      "getTuple p50",
      "cold",
      "first payload",
      "payload per put",
      "stored per put",
    ],
    rows,
    notes,
  };
}

function cells(label: string, result: ScenarioResult): string[] {
  return [
    label,
    bytes(result.stateBytes),
    ms(result.firstPut),
    ms(result.putP50),
    ms(result.getWarm),
    ms(result.getCold),
    bytes(result.payloadOfFirst),
    bytes(result.payloadPerPut),
    bytes(result.totalPerPut),
  ];
}

/** A sentence that compares the growing state with the floor. */
function growth(context: BenchContext, row: Row, result: ScenarioResult): string {
  const turns = row.startTurns + row.puts;
  const payload = (result.payloadOfFirst + result.payloadPerPut * row.puts) / turns;
  const blobs = (result.blobs ?? Number.NaN) / turns;
  const measured = `${row.label}: ${bytes(blobs)} of blobs per turn, whole ones included (payload: ${bytes(payload)})`;
  if (result.stateDigest !== FLOOR.stateDigest)
    return `${measured}; no floor is known for a state of this shape.`;
  context.figures.set("scale.growing.bytesPerTurn", blobs);
  context.figures.set("scale.growing.floor", FLOOR.bytes / turns);
  return `${measured}; zstd -19 of the whole append stream is ${bytes(FLOOR.bytes / turns)} per turn.`;
}

/** Small enough for a smoke test. */
function shrunk(row: Row): Row {
  return { ...row, startTurns: Math.ceil(row.startTurns / 50), puts: Math.min(row.puts, 5), gets: 3 };
}
