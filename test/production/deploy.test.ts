import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Deployment } from "kubernetes-models/apps/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";
import { parse, parseAllDocuments } from "yaml";
import { resolveService } from "../../packages/tools/service/src/drain/drainOptions.ts";

// The files for Docker and Kubernetes, as far as they can be checked without either.

const folder = join(import.meta.dirname, "../../examples/production");
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

interface Manifest {
  kind: keyof typeof models;
  spec: Record<string, never>;
}

const models = { Deployment, PodDisruptionBudget, Service };
const manifests = readdirSync(join(folder, "deploy/kubernetes")).flatMap((name) =>
  parseAllDocuments(read(`deploy/kubernetes/${name}`)).map((document) => document.toJS() as Manifest),
);

test("every manifest is what Kubernetes' schema allows", () => {
  expect(new Set(manifests.map(({ kind }) => kind))).toEqual(new Set(Object.keys(models)));
  for (const manifest of manifests) new models[manifest.kind](manifest as never).validate();
  const misspelt = structuredClone(manifests.find(({ kind }) => kind === "Deployment")!);
  Object.assign(misspelt.spec, { replicas: "three" });
  expect(() => new Deployment(misspelt as never).validate()).toThrow();
});

test("containers run under a numeric user id, write only to /tmp, and are given only settings that the service reads", () => {
  const serve = read("service/serve.ts");
  const deployments = manifests.filter(({ kind }) => kind === "Deployment");
  expect(deployments).toHaveLength(2);
  for (const { spec } of deployments as unknown as { spec: Deployment["spec"] }[])
    for (const { command, env = [], securityContext, volumeMounts } of spec!.template.spec!.containers) {
      // The image has the service and nothing else.
      expect(command).toBeUndefined();
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        readOnlyRootFilesystem: true,
      });
      for (const { name } of env) expect(serve).toContain(name);
      expect(volumeMounts).toEqual([{ name: "tmp", mountPath: "/tmp" }]);
    }
});

test("Kubernetes and Docker wait longer than a shutdown takes, and probe paths that exist", () => {
  const { limitsMs } = resolveService({});
  const shutdownSeconds = Object.values(limitsMs).reduce((sum, ms) => sum + ms, 0) / 1000;
  expect(shutdownSeconds).toBeGreaterThan(20);
  const text = JSON.stringify(manifests);
  for (const [, grace] of text.matchAll(/"terminationGracePeriodSeconds":(\d+)/g))
    expect(Number(grace)).toBeGreaterThan(shutdownSeconds);
  const [, stop] = /stop_grace_period: (\d+)s/.exec(read("compose.yaml"))!;
  expect(Number(stop)).toBeGreaterThan(shutdownSeconds);
  const app = read("service/app.ts");
  for (const [, path] of text.matchAll(/"path":"([^"]+)"/g)) expect(app).toContain(`"${path}"`);
});

test("compose.yaml names files that exist, and only settings that the service reads", () => {
  const compose = parse(read("compose.yaml"), { merge: true }) as {
    services: Record<
      string,
      { volumes?: string[]; environment?: Record<string, string>; build?: { dockerfile: string } }
    >;
  };
  const { services } = compose;
  expect(Object.keys(services)).toHaveLength(11);
  for (const { volumes = [], build } of Object.values(services)) {
    if (build !== undefined) expect(existsSync(join(folder, build.dockerfile))).toBe(true);
    for (const volume of volumes)
      if (volume.startsWith(".")) expect(existsSync(join(folder, volume.split(":")[0]!)), volume).toBe(true);
  }
  const serve = read("service/serve.ts");
  const settings = services["agent-0"]!.environment!;
  for (const name of Object.keys(settings)) if (!name.startsWith("AWS_")) expect(serve).toContain(name);
  // A copy of the folder has only the drivers that it names itself.
  const { dependencies } = JSON.parse(read("package.json")) as { dependencies: object };
  const drivers: Readonly<Record<string, string>> = {
    "postgresql:": "stratigraph",
    "redis:": "ioredis",
    "s3:": "@aws-sdk/client-s3",
  };
  const schemes = Object.values(settings).flatMap((value) => /^\w+:(?=\/\/)/.exec(value) ?? []);
  expect(new Set(schemes)).toEqual(new Set(Object.keys(drivers)));
  for (const scheme of schemes) expect(dependencies).toHaveProperty([drivers[scheme]!]);
  for (const name of ["deploy/prometheus.yml", "deploy/grafana.yml", "deploy/grafana-source.yml"])
    parse(read(name));
});
