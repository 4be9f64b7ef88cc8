import { answerWithin } from "../contract/answerWithin.ts";
import type { Tier } from "../contract/tier.ts";
import { diagnoses, type DiagnoseRequest, type Diagnosis } from "../contract/tierExtensions.ts";
import { pingTier, silentTierError } from "./health.ts";

/** What a check found. */
export type CheckResult = Pick<Diagnosis, "status" | "found" | "advice">;

/** One thing to look at. */
export interface Check {
  /** The {@link Diagnosis.check} of its findings. */
  readonly name: string;
  /** Undefined if there is nothing to report. An error that it throws is a finding, too. */
  look(): Promise<CheckResult | undefined>;
}

/** How one storage is checked. */
export interface CheckUp<Facts> {
  /** The storage's name. */
  readonly tier: string;
  /** The storage's address for people: host and port, never a password. */
  readonly place: string;
  /** A command that tests from a shell whether it can be reached. */
  readonly test: string;
  /** Makes the first round trip. Nothing else is asked before it is answered. */
  connect(): Promise<Facts>;
  /** The checks that follow, all run at the same time. The first is about the connection itself. */
  checks(facts: Facts): readonly Check[];
}

/** Checks one storage, each check for a limited time. Never rejects. */
export async function checkUp<Facts>(
  { tier, place, test, connect, checks }: CheckUp<Facts>,
  { role, timeoutMs }: DiagnoseRequest,
): Promise<readonly Diagnosis[]> {
  const inTime = <T>(work: () => Promise<T>): Promise<T> =>
    answerWithin(timeoutMs, work, () => silentTierError(tier, timeoutMs));
  let facts: Facts;
  try {
    facts = await inTime(connect);
  } catch (error) {
    const found = `${place}: ${messageOf(error)}`;
    return [{ tier, role, check: "connection", status: "problem", found, advice: `Test it: ${test}` }];
  }
  const findings = await Promise.all(
    checks(facts).map(async ({ name, look }): Promise<Diagnosis[]> => {
      try {
        const finding = await inTime(look);
        return finding === undefined ? [] : [{ tier, role, check: name, ...finding }];
      } catch (error) {
        const found = `It could not be looked at: ${messageOf(error)}`;
        return [{ tier, role, check: name, status: "unknown", found }];
      }
    }),
  );
  return findings.flat();
}

/** Asks a tier how it is set up. If it is no Diagnoser, asks only whether it can be reached. Never rejects. */
export async function diagnosisOf(tier: Tier, request: DiagnoseRequest): Promise<readonly Diagnosis[]> {
  if (diagnoses(tier)) return await tier.diagnose(request);
  const found = "It answers. It tells no more about itself.";
  return await checkUp(
    {
      tier: tier.name,
      place: `Tier ${tier.name}`,
      test: "call saver.health()",
      connect: () => pingTier(tier),
      checks: () => [{ name: "connection", look: async () => ({ status: "ok", found }) }],
    },
    request,
  );
}

/** Differences between clocks, in milliseconds: the smallest that is reported, and the smallest that does harm. */
const noticedSkewMs = 2_000;
const harmfulSkewMs = 60_000;

/**
 * Compares a server's clock with this process's.
 * @param askedMs when the server was asked, by this process's clock; milliseconds since 1970
 * @param serverMs what the server said
 * @param answeredMs when the answer came
 * @param stepMs the resolution of the server's clock, in milliseconds
 */
export function clockFinding(askedMs: number, serverMs: number, answeredMs: number, stepMs = 1): CheckResult {
  const skewMs = serverMs + stepMs / 2 - (askedMs + answeredMs) / 2;
  const doubtMs = (answeredMs - askedMs + stepMs) / 2;
  const leastMs = Math.max(0, Math.abs(skewMs) - doubtMs);
  if (leastMs < noticedSkewMs) return { status: "ok", found: "Its clock and this process's agree." };
  const found = `Its clock is ${Math.round(leastMs / 1000)} s ${skewMs > 0 ? "ahead of" : "behind"} this process's.`;
  const why = "Ages, expiry and leases are reckoned with both.";
  return {
    status: leastMs < harmfulSkewMs ? "warning" : "problem",
    found: `${found} ${why}`,
    advice: "On both machines: timedatectl status; sudo timedatectl set-ntp true",
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== "" ? error.message : String(error);
}
