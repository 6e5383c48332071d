import { copyStore } from '@x/core';
import { recordName } from '@x/core/internal';
import { command, UsageError } from '../../command.js';
import { scopeOf } from '../../identity-options.js';
import {
  namesStore,
  openSkipped,
  openStore,
  type StoreValues,
  sessionOptions,
  withStore,
} from '../../open-store.js';
import { storeOfAddress } from '../../stores.js';

/** Copies sessions between stores of any kind. */
export const copySessions = command({
  name: 'sessions copy',
  options: {
    to: {
      type: 'string',
      value: 'ADDRESS',
      help: 'The target: a URL, or an SQLite file.',
    },
    move: { type: 'boolean', help: 'Delete sessions after they are copied.' },
    ...sessionOptions,
  },
  summary:
    'Copies sessions to another store. The copies keep their order, and count as used now. Sessions that the target already has are not changed. Logs stay in the workspace. Without --to, copies the sessions in .x/ of the workspace, or in the store that you name, into your own store, with their permissions.',
  examples: [
    'x sessions copy',
    'x sessions copy --to ./sessions.db',
    'x sessions copy --redis redis://localhost --to ./old.db --move',
  ],
  async run({ values, output }) {
    const { to, move = false } = values;
    const { workspace } = values;
    const target: StoreValues =
      to === undefined ? { workspace } : { workspace, [storeOfAddress(to) ?? 'sqlite']: to };
    const isSkipped = to === undefined && !namesStore(values);
    const from = isSkipped ? await openSkipped(values) : await openStore(values, { readOnly: !move });
    try {
      await withStore(target, { readOnly: false, createTables: true }, async (store) => {
        const report = await copyStore(from.store, store, { scope: scopeOf(values), move });
        if (
          isSkipped &&
          report.copied + report.unchanged + report.busy.length + report.conflicts.length === 0
        ) {
          throw new UsageError(`.x/ of ${workspace} has no sessions. To copy your own: --to ADDRESS`);
        }
        output.write(`Copied ${report.copied}; ${report.unchanged} already existed.\n`);
        for (const record of report.busy)
          output.write(`Skipped ${recordName(record)}: another process uses it.\n`);
        if (report.conflicts.length === 0) return;
        throw new UsageError(
          `The target has different sessions with these ids: ${report.conflicts.map(recordName).join(', ')}`,
        );
      });
    } finally {
      await from.close();
    }
  },
});
