import { randomUUID } from "node:crypto";
import { checkUp } from "@stratigraph/core/internal";
import type { Check, DiagnoseRequest, Diagnosis, CheckResult } from "@stratigraph/core/tier";
import type { ObjectStore } from "./objectStore.ts";

/** The prefix and the content of probe objects. No key of a thread begins with a dot. */
const probePrefix = ".doctor/";
const probeContent = Buffer.from("Stratigraph tries whether objects can be written here.\n");

/** Checks object storage and this user's rights. Writes and removes a probe only if the request allows that. Never rejects. */
export async function diagnose(store: ObjectStore, request: DiagnoseRequest): Promise<readonly Diagnosis[]> {
  const { text: place, test } = (await store.place?.().catch(() => undefined)) ?? {
    text: `The store ${store.name}`,
    test: "call saver.health()",
  };
  const key = `${probePrefix}${randomUUID()}`;
  return await checkUp(
    {
      tier: store.name,
      place,
      test,
      connect: async () => {
        const began = performance.now();
        await store.ping?.();
        // One request, which fails without the storage or the right to list.
        for await (const _ of store.list(probePrefix)) break;
        return Math.round(performance.now() - began);
      },
      checks: (ms): Check[] => [
        {
          name: "connection",
          look: async () => ({
            status: "ok",
            found: `${place} answers in ${ms} ms, and lets objects be listed.`,
          }),
        },
        {
          name: "read",
          look: async () => {
            await store.get(key);
            return { status: "ok", found: "Objects can be read." };
          },
        },
        { name: "write", look: async () => (request.write ? await writeFinding(store, key) : unwritten) },
        ...(store.checks?.() ?? []),
      ],
    },
    request,
  );
}

const unwritten: CheckResult = {
  status: "unknown",
  found:
    "Whether objects can be written and deleted, and whether conditional writes are kept, shows only a probe object.",
  advice: "stratigraph doctor --write (the probe is removed again)",
};

/** Whether a probe can be put on the condition that there is none, and can be read and deleted. */
async function writeFinding(store: ObjectStore, key: string): Promise<CheckResult> {
  let stage = "written";
  let isThere = false;
  try {
    isThere = (await store.put(key, probeContent, { ifNoneMatch: "*" })) !== undefined;
    stage = "written on a condition";
    const isOverwritten = (await store.put(key, probeContent, { ifNoneMatch: "*" })) !== undefined;
    stage = "read";
    await store.get(key);
    stage = "deleted";
    await store.delete([key]);
    if (!isOverwritten)
      return {
        status: "ok",
        found: "Objects can be written, on conditions too, and deleted. The probe is removed.",
      };
    return {
      status: "problem",
      found: "The storage ignores the condition If-None-Match: two writers would overwrite each other.",
      advice: "Use AWS S3, MinIO, Ceph, Cloudflare R2 or another server that keeps conditional writes.",
    };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const isLeft = isThere && !(await isDeleted(store, key));
    return {
      status: "problem",
      found: `Objects can't be ${stage}: ${why}${isLeft ? ` The probe ${key} is left under the prefix.` : ""}`,
      advice:
        "Allow this user s3:ListBucket on the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject under the prefix.",
    };
  }
}

async function isDeleted(store: ObjectStore, key: string): Promise<boolean> {
  return await store.delete([key]).then(
    () => true,
    () => false,
  );
}
