import { inRounds } from "../../../../../test/rounds.ts";
import { freshDatabase } from "../../../../../test/servers/shared.ts";
import { testKills } from "./testKills.ts";

testKills("PostgreSQL", {
  rounds: inRounds({ few: 1, all: 4, soak: 20 }),
  durabilities: inRounds({ few: ["async"], all: ["async", "sync"] }),
  atOnce: 3,
  open: async () => {
    const { url, drop } = await freshDatabase();
    return { url, close: drop };
  },
});
