import type { DiagnoseRequest, Diagnosis } from "../contract/tierExtensions.ts";
import { checkUp, type CheckResult } from "./checkUp.ts";

/**
 * Diagnoses a tier in this process's memory.
 * @param threads counts its threads; throws once the tier was closed
 */
export async function diagnoseMemory(
  tier: string,
  threads: () => number,
  request: DiagnoseRequest,
): Promise<readonly Diagnosis[]> {
  return await checkUp(
    {
      tier,
      place: "This process's memory",
      test: "open a new saver",
      connect: async () => threads(),
      checks: (count) => [
        {
          name: "connection",
          look: async () => ({ status: "ok", found: `${count} threads in this process's memory.` }),
        },
        { name: "durability", look: async () => (request.role === "hot" ? undefined : forgetful) },
      ],
    },
    request,
  );
}

const forgetful: CheckResult = {
  status: "warning",
  found: "Threads are lost when this process ends, and other processes don't see them.",
  advice:
    "Name a storage that stays: postgresql://user:password@host/database, redis://…, s3://…, or a folder.",
};
