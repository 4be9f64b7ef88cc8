import { postgres } from "@stratigraph/postgres";
import { expect, test } from "vitest";
import { serverUrlsOf } from "../src/connection/serverUrls.ts";

test.each([
  ["postgresql://localhost/db", ["postgresql://localhost/db"]],
  [
    "postgres://u:p@a:1/db?target_session_attrs=standby",
    ["postgres://u:p@a:1/db?target_session_attrs=standby"],
  ],
  ["postgresql://a,b:5433", ["postgresql://a", "postgresql://b:5433"]],
  [
    "postgresql://u:p,w@a:1,[::1]:2/db?target_session_attrs=read-write&sslmode=require",
    [
      "postgresql://u:p,w@a:1/db?target_session_attrs=read-write&sslmode=require",
      "postgresql://u:p,w@[::1]:2/db?target_session_attrs=read-write&sslmode=require",
    ],
  ],
  ["/var/run/postgresql db", ["/var/run/postgresql db"]],
])("%s names %j", (url, servers) => {
  expect(serverUrlsOf(url)).toEqual(servers);
});

test.each([
  ["postgresql://u:secret@a,,b/db", "url"],
  ["postgresql://u:secret@a,:5432/db", "url"],
  ["postgresql://u:secret@a,b/db?target_session_attrs=standby", "url, target_session_attrs"],
])("%s is refused, and its login isn't shown", (url, field) => {
  const open = () => postgres({ url });
  expect(open).toThrow(
    expect.objectContaining({ code: "INVALID_OPTION", data: expect.objectContaining({ field }) }),
  );
  expect(open).not.toThrow(/secret/);
});
