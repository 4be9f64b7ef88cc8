/** What the official MemorySaver gets wrong under the installed LangGraph: "scenario, durability" → why. */
export const officialDefects = (): ReadonlyMap<string, string> => new Map();
