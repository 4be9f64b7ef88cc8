import { join } from "node:path";
import { inRounds } from "../../../../../test/rounds.ts";
import { points, type Point } from "./message.ts";
import { testKills } from "./testKills.ts";

testKills("PGlite", {
  rounds: inRounds({ few: 1, all: 1, soak: 4 }),
  durabilities: inRounds({ few: ["async"], all: ["async", "sync"] }),
  dieAt: inRounds<readonly Point[]>({
    few: ["after the claim", "after the effect", "before put"],
    all: points,
  }),
  // An embedded folder is one process's.
  atOnce: 1,
  open: (folder) => Promise.resolve({ url: join(folder, "database"), close: () => Promise.resolve() }),
});
