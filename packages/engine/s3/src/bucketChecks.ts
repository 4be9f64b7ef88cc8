import type { LifecycleRule, S3Client } from "@aws-sdk/client-s3";
import { clockFinding } from "@stratigraph/core/internal";
import type { Check, CheckResult } from "@stratigraph/core/tier";
import type { AwsConnection } from "./awsConnector.ts";
import { within } from "./requestTimeout.ts";

/** A bucket, and the prefix of our keys in it. */
interface Place {
  readonly bucket: string;
  readonly prefix: string;
}

/** Storage classes from which an object has to be restored before it can be read. */
const frozen: ReadonlySet<string> = new Set(["GLACIER", "DEEP_ARCHIVE"]);

/** Servers report the time in whole seconds. */
const secondMs = 1000;

/** The endpoint of a client, without user name and password; undefined if the client has none. */
export async function endpointOf({ config }: S3Client): Promise<string | undefined> {
  // Clients of other libraries that fit may have no config.
  const endpoint = await (config as Partial<S3Client["config"]> | undefined)?.endpoint?.();
  if (endpoint === undefined) return undefined;
  const { protocol, hostname, port } = endpoint;
  return `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`;
}

/** The checks of a bucket: older versions, lifecycle rules, and the clock. Each is one request, made once. */
export function bucketChecks(
  connected: () => Promise<AwsConnection>,
  place: Place,
  timeoutMs: number,
): readonly Check[] {
  return [
    { name: "versioning", look: () => versioning(connected, place, timeoutMs) },
    { name: "lifecycle", look: () => lifecycle(connected, place, timeoutMs) },
    { name: "clock", look: () => clock(connected, place, timeoutMs) },
  ];
}

async function versioning(
  connected: () => Promise<AwsConnection>,
  { bucket }: Place,
  timeoutMs: number,
): Promise<CheckResult> {
  const { sdk, client } = await connected();
  const { Status } = await within(timeoutMs, (abortSignal) =>
    client.send(new sdk.GetBucketVersioningCommand({ Bucket: bucket }), { abortSignal }),
  );
  if (Status !== "Enabled") return { status: "ok", found: "The bucket keeps no older versions of objects." };
  return {
    status: "warning",
    found:
      "The bucket keeps older versions: each write of a thread leaves one, and so does a deletion, so that deleted threads stay readable there.",
    advice: "Give the bucket a lifecycle rule with NoncurrentVersionExpiration, for instance of 7 days.",
  };
}

async function lifecycle(
  connected: () => Promise<AwsConnection>,
  { bucket, prefix }: Place,
  timeoutMs: number,
): Promise<CheckResult> {
  const rules = await rulesOf(connected, bucket, timeoutMs);
  const ours = rules.filter((rule) => rule.Status === "Enabled" && concerns(rule, prefix));
  const named = ({ ID }: LifecycleRule): string => JSON.stringify(ID ?? "without a name");
  const expiring = ours.find(
    ({ Expiration }) => Expiration?.Days !== undefined || Expiration?.Date !== undefined,
  );
  const rule = (one: LifecycleRule): string =>
    `aws s3api get-bucket-lifecycle-configuration --bucket ${bucket}, and take the prefix ${prefix} out of the rule ${named(one)}`;
  if (expiring !== undefined) {
    const after = expiring.Expiration?.Days;
    return {
      status: "problem",
      found: `The lifecycle rule ${named(expiring)} deletes objects of threads${after === undefined ? "" : ` after ${after} days`}, also those that are needed.`,
      advice: `${rule(expiring)}. To delete idle threads, use deleteArchivedAfter or deleteAfter.`,
    };
  }
  const freezing = ours.find(({ Transitions = [] }) =>
    Transitions.some(({ StorageClass }) => frozen.has(StorageClass ?? "")),
  );
  if (freezing !== undefined)
    return {
      status: "problem",
      found: `The lifecycle rule ${named(freezing)} moves objects to a storage class from which they can't be read at once.`,
      advice: `${rule(freezing)}, or let it use GLACIER_IR.`,
    };
  return { status: "ok", found: "No lifecycle rule deletes or freezes objects of threads." };
}

async function rulesOf(
  connected: () => Promise<AwsConnection>,
  bucket: string,
  timeoutMs: number,
): Promise<readonly LifecycleRule[]> {
  const { sdk, client } = await connected();
  try {
    const { Rules = [] } = await within(timeoutMs, (abortSignal) =>
      client.send(new sdk.GetBucketLifecycleConfigurationCommand({ Bucket: bucket }), { abortSignal }),
    );
    return Rules;
  } catch (error) {
    if (error instanceof Error && error.name === "NoSuchLifecycleConfiguration") return [];
    throw error;
  }
}

/** Whether a rule may be for objects under a prefix, whatever tags it asks for. */
function concerns({ Filter, Prefix }: LifecycleRule, prefix: string): boolean {
  const of = Filter?.Prefix ?? Filter?.And?.Prefix ?? Prefix ?? "";
  return prefix.startsWith(of) || of.startsWith(prefix);
}

/** Compares the server's clock (the Date of an answer) with this process's. Requests whose time is off by 15 minutes are refused. */
async function clock(
  connected: () => Promise<AwsConnection>,
  { bucket, prefix }: Place,
  timeoutMs: number,
): Promise<CheckResult | undefined> {
  const { sdk, client } = await connected();
  const command = new sdk.ListObjectsV2Command({ Bucket: bucket, Prefix: `${prefix}.doctor/`, MaxKeys: 1 });
  let date: string | undefined;
  command.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next(args);
      const { headers } = Object(answer.response) as { readonly headers?: Readonly<Record<string, string>> };
      date = headers?.["date"];
      return answer;
    },
    { step: "deserialize", priority: "low" },
  );
  const askedMs = Date.now();
  await within(timeoutMs, (abortSignal) => client.send(command, { abortSignal }));
  const serverMs = date === undefined ? Number.NaN : Date.parse(date);
  return Number.isNaN(serverMs) ? undefined : clockFinding(askedMs, serverMs, Date.now(), secondMs);
}
