const nouns =
  "parcel invoice flight ticket server region budget meeting report password laptop garden recipe train museum".split(
    " ",
  );
const verbs =
  "find cancel explain compare translate repair book schedule measure summarise rename deploy check refund".split(
    " ",
  );
const adjectives =
  "late blue second broken quiet urgent cheap annual missing heavy early unusual nearby final".split(" ");
const tools = ["find_orders", "read_calendar", "run_query", "list_files"] as const;

/** A small seeded generator (mulberry32): the same text at every run and on every Node. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Bytes that look like a `messages` channel as LangGraph's json serializer writes it, cut at `size` bytes. */
export function messageLike(size: number, seed: number): Uint8Array {
  const next = random(seed);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(next() * from.length)]!;
  const hex = (length: number): string =>
    Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join("");
  const uuid = (): string => `${hex(8)}-${hex(4)}-4${hex(3)}-a${hex(3)}-${hex(12)}`;
  const sentence = (): string => {
    const object = `the ${pick(adjectives)} ${pick(nouns)}`;
    return `Please ${pick(verbs)} ${object} of ${Math.floor(next() * 1e4)} and ${pick(verbs)} my ${pick(nouns)}.`;
  };
  const message = (name: string, kwargs: object): object => ({
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "messages", name],
    kwargs: { ...kwargs, additional_kwargs: {}, response_metadata: {} },
  });
  const parts: string[] = [];
  for (let length = 0; length < size; length += parts.at(-1)!.length) {
    const call = `call_${hex(24)}`;
    const name = pick(tools);
    const turn = [
      message("HumanMessage", { content: `${sentence()} ${sentence()}`, id: uuid() }),
      message("AIMessage", {
        content: "",
        id: uuid(),
        tool_calls: [
          { name, args: { text: pick(nouns), limit: Math.floor(next() * 50) }, id: call, type: "tool_call" },
        ],
        invalid_tool_calls: [],
      }),
      message("ToolMessage", {
        content: JSON.stringify({
          ok: true,
          rows: [{ id: hex(8), label: sentence(), amount: Math.floor(next() * 1e6) / 100 }],
        }),
        tool_call_id: call,
        name,
      }),
      message("AIMessage", {
        content: `${sentence()} ${sentence()}`,
        id: uuid(),
        tool_calls: [],
        invalid_tool_calls: [],
      }),
    ];
    parts.push(turn.map((one) => JSON.stringify(one)).join(",") + ",");
  }
  return Uint8Array.from(Buffer.from(`[${parts.join("")}`, "utf8").subarray(0, size));
}
