import { postgres } from "@stratigraph/postgres";
import { PackTier } from "@stratigraph/s3";
import { TieredSaver, type TieredSaverOptions } from "@stratigraph/tiered";
import { storeAt, type StorePlace } from "../../../../s3/test/support/place.ts";

// Maintains once, and is killed after one of its calls of PostgreSQL or S3, before it knows the answer.
const [url, place, options, step] = process.argv.slice(2) as [string, string, string, string];
let passed = 0;

function pass(): void {
  if (passed === Number(step)) process.kill(process.pid, "SIGKILL");
  passed += 1;
}

/** The same, each call of which is a point to die at. */
function mortal<T extends object>(target: T): T {
  return new Proxy(target, {
    get: (of, name) => {
      const value: unknown = Reflect.get(of, name, of);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        const answer: unknown = value.apply(of, args);
        if (!(answer instanceof Promise)) return answer;
        return answer.finally(pass);
      };
    },
  });
}

const saver = new TieredSaver(
  {
    warm: mortal(postgres({ url })),
    cold: new PackTier(mortal(storeAt(JSON.parse(place) as StorePlace))),
    pause: "0ms",
    ...(JSON.parse(options) as Partial<TieredSaverOptions>),
  },
  () => Date.now() + 120_000,
);
await saver.maintain();
process.send?.(passed);
await saver.end();
process.disconnect();
