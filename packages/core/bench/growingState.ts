/** Deterministic pseudo-random numbers in [0, 1) (mulberry32). */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const SYLLABLES =
  "an be con de er for ing ki lo men nor op per qua re sta ti un ver wa xi yo za tion ment ly".split(" ");

/** A vocabulary whose frequent words are short, as in a natural language. */
function vocabulary(size: number, next: () => number): string[] {
  return Array.from({ length: size }, (_, rank) => {
    const syllables = 1 + Math.floor(Math.log2(2 + rank) / 4 + next() * 1.5);
    return Array.from({ length: syllables }, () => SYLLABLES[Math.floor(next() * SYLLABLES.length)]).join("");
  });
}

const uuid = (next: () => number) =>
  "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx".replaceAll("x", () => Math.floor(next() * 16).toString(16));

function message(type: string, id: string, content: string, more: object = {}): object {
  const kwargs = { content, additional_kwargs: {}, response_metadata: {}, id, ...more };
  return { lc: 1, type: "constructor", id: ["langchain_core", "messages", type], kwargs };
}

/**
 * Turns of a made-up conversation in LangChain's message JSON, about 4.8 kB each: a question, an answer that calls
 * a tool, the tool's records, and an answer. Words follow Zipf's law; ids are random, as real ones are.
 */
export function makeTurns(count: number, seed = 1): object[][] {
  const next = random(seed);
  const words = vocabulary(20000, next);
  // exp(u * ln n) has the density 1/x: Zipf's law.
  // Every eighth is a name or number that no dictionary has.
  const word = () =>
    next() < 0.13
      ? Math.floor(next() * 2e9).toString(36)
      : words[Math.floor(Math.exp(next() ** 0.7 * Math.log(words.length))) - 1]!;
  const prose = (length: number) => {
    let text = "";
    while (text.length < length) {
      const sentence = Array.from({ length: 5 + Math.floor(next() * 12) }, word).join(" ");
      text += `${sentence[0]!.toUpperCase()}${sentence.slice(1)}. `;
    }
    return text.trim();
  };
  const record = () => ({
    id: uuid(next),
    title: prose(24),
    status: next() < 0.7 ? "confirmed" : "pending",
    amount: Math.round(next() * 1e5) / 100,
    created_at: new Date(1.7e12 + next() * 3e10).toISOString(),
    passengers: [{ first_name: word(), last_name: word(), dob: `19${10 + Math.floor(next() * 89)}-05-17` }],
  });
  return Array.from({ length: count }, () => {
    const call = `call_${uuid(next).replaceAll("-", "").slice(0, 24)}`;
    const usage = {
      input_tokens: Math.floor(next() * 1e5),
      output_tokens: Math.floor(next() * 900),
      total_tokens: 0,
    };
    const metadata = {
      response_metadata: {
        model_name: "gpt-4o-2024-08-06",
        finish_reason: "stop",
        system_fingerprint: "fp_e49e4201a9",
      },
    };
    const records = Array.from({ length: 2 + Math.floor(next() * 5) }, record);
    return [
      message("HumanMessage", uuid(next), prose(260)),
      message("AIMessage", `chatcmpl-${uuid(next)}`, "", {
        ...metadata,
        tool_calls: [
          {
            name: "search_records",
            args: { query: prose(40), limit: records.length },
            id: call,
            type: "tool_call",
          },
        ],
        usage_metadata: usage,
      }),
      message("ToolMessage", uuid(next), JSON.stringify(records), {
        tool_call_id: call,
        name: "search_records",
        status: "success",
      }),
      message("AIMessage", `chatcmpl-${uuid(next)}`, prose(1600), {
        ...metadata,
        tool_calls: [],
        usage_metadata: usage,
      }),
    ];
  });
}

const encoder = new TextEncoder();

/** The state after each turn, as JSON: an array of all messages so far. */
export function growingStates(turns: readonly object[][]): Uint8Array[] {
  let body = "";
  return turns.map((messages) => {
    for (const one of messages) body += `${body === "" ? "" : ","}${JSON.stringify(one)}`;
    return encoder.encode(`[${body}]`);
  });
}
