import { RedisSaver } from "@stratigraph/redis";
import { sharedRedis } from "../../../../../../test/servers/shared.ts";
import { savers as others, type Opened } from "../../../../../features/branch/test/support/savers.ts";

/** The savers that operations are tested on. */
export const savers: [name: string, open: () => Promise<Opened>][] = [
  ...others,
  [
    "RedisSaver",
    async () => {
      const saver = new RedisSaver(await sharedRedis());
      return { saver, close: () => saver.end() };
    },
  ],
];
