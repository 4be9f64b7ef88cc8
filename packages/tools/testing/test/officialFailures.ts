import { clauses } from "../src/conformance/clauses.ts";
import { isAtLeast } from "../src/installedVersion.ts";

/** Clauses about methods that no official JavaScript saver has. */
export const noSuchMethod = clauses
  .filter((clause) => clause.needs !== undefined)
  .map((clause) => clause.name);

const bothFail = [
  // They take the largest id for the latest checkpoint.
  "get_tuple_latest_uses_checkpoint_timestamp_not_id",
  "list_uses_checkpoint_timestamp_not_id",
  // A late put brings a deleted thread back.
  "delete_thread_blocks_late_writes",
  // The last writer wins, in silence.
  "ownership_superseded_writer_cannot_fork_the_chain",
  "ownership_superseded_writer_learns_it",
  "ownership_superseded_writer_stays_superseded",
  // putWrites demands a namespace.
  "put_writes_default_namespace",
];

/** Clauses about the order of pending writes, without those that hold in any order of tasks. */
const orderOfWrites = (but: readonly string[]): string[] =>
  clauses
    .filter((clause) => clause.group === "writes_order" && !but.includes(clause.name))
    .map((clause) => clause.name);

/** What the official MemorySaver of the installed version fails. */
export const memoryFailures = [
  ...noSuchMethod,
  ...bothFail,
  ...(isAtLeast("@langchain/langgraph-checkpoint", "1.2.1")
    ? []
    : [
        // Pending writes come in the order of arrival, and paths are ignored.
        ...orderOfWrites(["order_of_one_task_is_that_of_its_writes"]),
        // Ids are in the order of a dictionary.
        "calls_put_ids_that_differ_in_case",
        // Without an id there is no history.
        "calls_delta_history_of_the_latest_checkpoint",
      ]),
  // A checkpoint put again on itself becomes its own parent: a chain without end.
  "put_again_keeps_its_parent",
  // Filters are compared by identity, and undefined stands for metadata without the key.
  "calls_list_with_a_filter_by_an_object",
  "calls_list_with_a_filter_that_leaves_a_value_out",
];

/** What the official PostgresSaver fails. */
export const postgresFailures = [
  ...noSuchMethod,
  ...bothFail,
  // Blobs are keyed by channel and integer version; the first branch to reach a version wins.
  "put_branches_keep_their_values",
  "ownership_does_not_forbid_forks",
  // A backslash in a channel name is no valid bytea literal, and the thread can't be read again.
  "put_ids_of_any_text",
  // Pending writes come ordered by task id, whatever the path.
  ...orderOfWrites([
    "order_of_one_task_is_that_of_its_writes",
    "order_of_tasks_by_code_point",
    "order_without_any_path_is_by_task",
  ]),
  // put wants newVersions, which the other official savers don't take.
  "calls_put_without_new_versions",
  "calls_put_with_undefined_as_new_versions",
  "calls_put_without_new_versions_takes_values_of_old_versions",
  "calls_put_without_new_versions_leaves_out_delta_channels",
  "calls_put_a_checkpoint_without_maps",
  "calls_graph_on_a_subclass",
  // Blobs are keyed by channel and integer version, here too.
  "calls_put_a_root_after_its_children",
  // Sends of one checkpoint id count in all namespaces, and those of a parent that isn't there aren't none.
  "calls_put_older_formats",
  "calls_put_under_a_parent_that_is_elsewhere",
  // Null isn't undefined, and an empty id is one.
  "calls_put_where_the_namespace_is_left_out",
  "calls_get_tuple_where_the_id_is_left_out",
  "calls_list_with_before",
  // It doesn't know thread_ts.
  "calls_get_tuple_by_the_older_name_of_the_id",
];
