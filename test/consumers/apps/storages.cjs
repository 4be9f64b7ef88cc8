/** The storages that an application is run on: memory, a folder where asked for, PostgreSQL where there is a server. */
exports.storages = function storages({ createCheckpointer, folder, postgres }) {
  const memory = createCheckpointer({ memory: true });
  const reopened = (config) => ({ open: () => createCheckpointer(config), close: (saver) => saver.end() });
  return {
    memory: { open: () => memory, close: () => undefined },
    ...(folder === undefined ? {} : { folder: reopened({ pglite: folder }) }),
    ...(postgres === undefined || postgres === "" ? {} : { postgres: reopened({ postgres }) }),
  };
};
