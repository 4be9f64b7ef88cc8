import * as openTelemetry from "@opentelemetry/api";
import { observe } from "@stratigraph/telemetry";

test("a second observer of OpenTelemetry would count twice, and is refused until the first has stopped", () => {
  const first = observe({ openTelemetry, spans: false });
  for (const spans of [true, false])
    expect(() => observe({ openTelemetry, spans })).toThrowError(
      expect.objectContaining({
        code: "INVALID_OPTION",
        message: expect.stringContaining("observed already"),
      }),
    );
  first.stop();
  observe({ openTelemetry, spans: false }).stop();
});
