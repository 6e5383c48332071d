import { existsSync } from 'node:fs';
import { eraseUser, exportUser } from '@x/core';
import { recordName } from '@x/core/internal';
import { fileSegment } from '@x/core/store';
import { MemoryIndex } from '@x/memory';
import { type Command, command, commandGroup, UsageError } from '../command.js';
import { identityOptions, openWorkspace } from '../identity-options.js';
import { storeOptions, withStore } from '../open-store.js';

const { workspace, tenant } = identityOptions;
const options = { workspace, tenant, ...storeOptions } as const;

const eraseCommand = command({
  name: 'users erase',
  takes: 'USER',
  options: {
    yes: { type: 'boolean', required: true, help: 'Confirm the deletion, which cannot be undone.' },
    index: {
      type: 'string',
      value: 'FILE',
      multiple: true,
      help: 'Also delete the user from this memory index.',
    },
    ...options,
  },
  summary: 'Deletes all data of a user: sessions, logs, memory and files.',
  examples: ['x users erase alice --redis redis://localhost --yes'],
  async run({ values, positionals: [userId = ''], output }) {
    if (!values.yes) throw new UsageError(`This permanently erases user ${userId}. To confirm, add --yes.`);
    const indexes = values.index ?? [];
    const missing = indexes.find((file) => !existsSync(file));
    if (missing !== undefined) throw new UsageError(`There is no index at ${missing}.`);
    const storage = openWorkspace(values);
    const user = { tenantId: values.tenant, userId };
    await withStore(values, { readOnly: false }, async (store) => {
      const { sessions, files, busy } = await eraseUser({ session: store, storage }, user);
      for (const file of indexes) {
        const index = await MemoryIndex.open(file);
        await index.forget(
          `${values.tenant === undefined ? '' : `tenants/${fileSegment(values.tenant)}/`}users/${fileSegment(userId)}/`,
        );
        await index.close();
      }
      output.write(
        `Erased ${sessions} ${sessions === 1 ? 'session' : 'sessions'} and ${files} ${files === 1 ? 'file' : 'files'}.\n`,
      );
      if (busy.length > 0)
        throw new UsageError(
          `These sessions are in use and were not erased. Repeat the command when their calls have ended: ${busy.map(recordName).join(', ')}`,
        );
    });
  },
});

const exportCommand = command({
  name: 'users export',
  takes: 'USER',
  options,
  summary: 'Prints all data of a user as JSON lines: sessions, then files.',
  examples: ['x users export alice > alice.jsonl'],
  async run({ values, positionals: [userId = ''], output, errors }) {
    const storage = openWorkspace(values);
    const user = { tenantId: values.tenant, userId };
    await withStore(values, { readOnly: true }, async (store) => {
      let count = 0;
      for await (const record of exportUser({ session: store, storage }, user)) {
        output.write(`${JSON.stringify(record)}\n`);
        count++;
      }
      if (count === 0) errors.write(`There is no data of user ${userId}.\n`);
    });
  },
});

/** Exports and erases users. */
export const users: Command = commandGroup({
  name: 'users',
  takes: 'export|erase USER',
  options: {},
  summary: 'Exports or erases all data of a user.',
  examples: ['x users export alice > alice.jsonl', 'x users erase alice --yes'],
  subcommands: [exportCommand, eraseCommand],
});
