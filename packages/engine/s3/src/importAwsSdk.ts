import type * as S3 from "@aws-sdk/client-s3";
import { StratigraphError } from "@stratigraph/core";

/** Loads the AWS SDK. @throws StratigraphError "DRIVER_MISSING" if it isn't installed */
export async function importAwsSdk(): Promise<typeof S3> {
  // If import() stands in a try of the same function, bundlers accept that the package isn't installed.
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
