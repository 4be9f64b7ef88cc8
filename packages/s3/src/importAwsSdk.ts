import type * as S3 from "@aws-sdk/client-s3";
import { StratigraphError } from "@stratigraph/core";

/** The AWS SDK, loaded when it is first used. @throws StratigraphError "DRIVER_MISSING" where it isn't installed */
export async function importAwsSdk(): Promise<typeof S3> {
  // In a try of the same function: bundlers then leave a package that isn't installed to run time.
  try {
    return await import("@aws-sdk/client-s3");
  } catch (cause) {
    throw new StratigraphError(
      "DRIVER_MISSING",
      "S3 needs the package @aws-sdk/client-s3. Install it: npm install @aws-sdk/client-s3",
      { tier: "s3", package: "@aws-sdk/client-s3" },
      cause,
    );
  }
}
