import { createCheckpointer } from "stratigraph";
import { freshDatabase } from "../../../../test/servers/shared.ts";
import { postgresBackups } from "../../../../test/setBack/postgresBackups.ts";
import { testSetBack } from "../../../../test/setBack/testSetBack.ts";

testSetBack("postgres", async () => {
  const { url, drop } = await freshDatabase();
  const savers: { end(): Promise<void> }[] = [];
  return {
    ...postgresBackups(url),
    open: async (options) => {
      const saver = await createCheckpointer({ postgres: url, ...options });
      savers.push(saver);
      return saver;
    },
    close: async () => {
      await Promise.all(savers.map((saver) => saver.end()));
      await drop();
    },
  };
});
