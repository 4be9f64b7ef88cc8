import { inRounds } from "../../../../../test/rounds.ts";
import { freshDatabase, sharedRedis } from "../../../../../test/servers/shared.ts";
import { testKills } from "./testKills.ts";

testKills("redis>postgres", {
  rounds: inRounds({ few: 1, all: 4, soak: 20 }),
  durabilities: inRounds({ few: ["sync"], all: ["async", "sync"] }),
  atOnce: 3,
  open: async () => {
    const [{ url, drop }, redis] = await Promise.all([freshDatabase(), sharedRedis()]);
    const hot = `${redis.url}?prefix=${encodeURIComponent(redis.prefix)}`;
    return { url, hot, close: drop };
  },
});
