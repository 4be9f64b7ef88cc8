// One instance of examples/production: the same program as is deployed.
await import("../../examples/production/service/serve.ts");
