import { MemoryTier } from "@stratigraph/core";
import { createService } from "@stratigraph/service";
import { simulate } from "./simulate.ts";

const never = (): Promise<never> => new Promise(() => undefined);

test("by default a shutdown in which everything hangs ends in 28 seconds, before Kubernetes kills", async () => {
  await simulate(async (world) => {
    const tier = Object.assign(new MemoryTier(), { idle: never });
    const hanging = { stopListening: never, maintenance: { stop: never }, close: { telemetry: never } };
    const service = createService({ tier, end: never }, hanging);
    void service.run("t", never);
    const { ok, runs, steps } = await service.drain();
    expect([ok, runs.left]).toEqual([false, ["t"]]);
    expect(steps.filter(({ outcome }) => outcome === "done").map(({ step }) => step)).toEqual(["balancer"]);
    expect(world.clock.nowMs).toBe(28_000);
  });
});
