import { mock } from "node:test";
import { lockFolder } from "../../src/connection/lockFolder.ts";

// Holds a folder until it is killed. Time passes when it is told to.
mock.timers.enable({ apis: ["setInterval"] });
lockFolder(process.argv[2]!);
process.on("message", () => {
  mock.timers.tick(5_000);
  process.send?.("renewed");
});
process.send?.("held");
