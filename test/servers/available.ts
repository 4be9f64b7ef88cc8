import { chromiumBinary } from "./chromium.ts";
import { postgresBin } from "./postgres.ts";
import { onPath } from "./process.ts";

/**
 * Which servers tests can start on this machine. `npm test` installs what the tests need, or uses running servers that environment
 * variables name. Then tests that need a server of their own, to kill, restart or pause it, are skipped with
 * `test.skipIf(!available.redis)(…)`.
 */
export const available = {
  postgres: postgresBin() !== undefined,
  pgbouncer: onPath("pgbouncer"),
  redis: onPath("redis-server"),
  nginx: onPath("nginx"),
  prometheus: onPath("prometheus") && onPath("promtool"),
  chromium: chromiumBinary() !== undefined,
  /** Process namespaces of their own; see container.ts. */
  containers: process.geteuid?.() === 0 && onPath("unshare"),
  s3: ["radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph", "monmaptool"].every(onPath),
};
