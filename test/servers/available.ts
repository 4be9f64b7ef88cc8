import { postgresBin } from "./postgres.ts";
import { onPath } from "./process.ts";

/**
 * Which servers tests can start here. `npm test` installs what the packages' tests need, or takes running servers
 * named by environment variables: tests that start (kill, restart, pause) one of their own are then skipped, as
 * `test.skipIf(!available.redis)(…)`.
 */
export const available = {
  postgres: postgresBin() !== undefined,
  pgbouncer: onPath("pgbouncer"),
  redis: onPath("redis-server"),
  s3: ["radosgw", "radosgw-admin", "ceph-mon", "ceph-osd", "ceph", "monmaptool"].every(onPath),
};
