/** Two agents edit one file at the same time: with deepagents' StoreBackend one edit is lost, in a workspace none. */
import { strict as assert } from "node:assert";
import { StoreBackend, type BackendProtocolV2 } from "deepagents";
import { createWorkspace } from "@stratigraph/workspace";
import { WorkspaceBackend } from "@stratigraph/workspace/deepagents";
import { createCheckpointer } from "stratigraph";

const checkpointer = await createCheckpointer({ memory: true });
const workspace = createWorkspace(checkpointer, "team");
const backend = new WorkspaceBackend(workspace, { namespace: ["files"] });

/** What two subagents do whose model asks for these edits in one turn. */
async function editedBy(files: BackendProtocolV2): Promise<unknown> {
  await files.write("/report.md", "Rome: ?\nPisa: ?\n");
  const edits = await Promise.all([
    files.edit("/report.md", "Rome: ?", "Rome: 4 days"),
    files.edit("/report.md", "Pisa: ?", "Pisa: 1 day"),
  ]);
  // Both agents are told that all is well.
  assert.deepEqual(
    edits.map(({ error, occurrences }) => ({ error, occurrences })),
    [1, 1].map((occurrences) => ({ error: undefined, occurrences })),
  );
  return (await files.read("/report.md")).content;
}

const theirs = await editedBy(new StoreBackend({ store: checkpointer.store(), namespace: ["files"] }));
console.log(`StoreBackend:\n${String(theirs)}`);
assert.equal(theirs, "Rome: ?\nPisa: 1 day\n");

const ours = await editedBy(backend);
console.log(`WorkspaceBackend:\n${String(ours)}`);
assert.equal(ours, "Rome: 4 days\nPisa: 1 day\n");

// Who changed the file, when, and what it was before.
for await (const { version, at, reason } of workspace.history(["files"], "/report.md"))
  console.log(version, at.toISOString(), reason);

await checkpointer.end();
