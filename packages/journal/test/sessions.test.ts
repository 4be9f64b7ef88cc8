import { MemoryTier } from "@stratigraph/core";
import { expect, it } from "vitest";
import { Session } from "../src/calls/session.ts";

it("a session that was taken for dead while it ran nothing is seen alive when it runs again", async () => {
  const tier = new MemoryTier();
  const [one, other] = [new Session(tier), new Session(tier)];
  const { machine, pid } = one;
  await one.during(async () => undefined);
  expect(await other.isAlive(one.session, { machine, pid })).toBe(false);
  await one.during(async () => {
    expect(await other.isAlive(one.session, { machine, pid })).toBe(true);
    expect(other.dead.has(one.session)).toBe(false);
  });
});
