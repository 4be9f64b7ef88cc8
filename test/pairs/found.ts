import type { Pair } from "./play.ts";

/** Pairs in which a fault was found once. `schedule`: the one in which it was seen; otherwise that of the pair's name. */
export const found: readonly (Pair & { readonly schedule?: readonly number[] | undefined })[] = [
  on("turn", "move", "hot>warm>memory, delta, async, archived"),
  on("prune", "move", "trusted, plain, exit, in use"),
  on("prune", "move", "hot>warm>pack, plain, sync, archived"),
  on("move", "reencrypt", "memory, plain, async, new"),
  on("turn", "expire", "trusted, delta, async, archived"),
  on("two turns", "delete", "hot>warm>memory, plain, async, archived"),
  on("time travel", "copy", "trusted, plain, async, archived"),
  on("two turns", "maintain", "trusted, plain, async, in use"),
  on("begin anew", "set back", "memory, delta, async, in use"),
  on("turn", "copy", "pack, plain, sync, in use"),
  on("two turns", "move", "hot>warm>memory, delta, async, archived", [7]),
  on("fork", "set back the owner", "trusted, delta, exit, in use", [1]),
];

function on(first: Pair["deeds"][0], second: Pair["deeds"][1], how: string, schedule?: readonly number[]) {
  const [storage, channel, durability, beginning] = how.split(", ") as [
    Pair["storage"],
    Pair["channel"],
    Pair["durability"],
    Pair["beginning"],
  ];
  return { deeds: [first, second], storage, channel, durability, beginning, schedule } as const;
}
