import { createCheckpointer, type CheckpointerConfig } from "stratigraph";
import { kinds } from "./agents.ts";
import { finish } from "./kind.ts";
import { Book } from "./world.ts";

// An agent of each kind, in a process that kills itself when all of them are in the midst of a step.

/** What the child is told. */
export interface FamilyOrders {
  readonly place: Readonly<Record<string, string>>;
  /** By kind: the file of what its tools do, and at which of its points it stops. */
  readonly kinds: Readonly<
    Record<string, { readonly thread: string; readonly book: string; readonly stopsAt: number }>
  >;
}

const orders = JSON.parse(process.argv[2]!) as FamilyOrders;
const saver = await createCheckpointer(orders.place as unknown as CheckpointerConfig);

await Promise.all(
  Object.entries(orders.kinds).map(async ([name, { thread, book, stopsAt }]) => {
    const kind = kinds[name]!;
    let points = 0;
    await new Promise<void>((stopped, failed) => {
      const reached = async (): Promise<void> => {
        points += 1;
        if (points < stopsAt) return;
        stopped();
        await new Promise(() => undefined);
      };
      const place = { saver, store: saver.store(), world: { reached, book: new Book(book) } };
      finish(kind, kind.open(place), thread).then(() => failed(new Error(`${name} ended`)), failed);
    });
  }),
);
process.kill(process.pid, "SIGKILL");
