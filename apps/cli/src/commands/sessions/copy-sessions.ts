import { AgentState, copyStore, type Message, SessionKey } from '@x/core';
import { operationOf, recordName } from '@x/core/internal';
import { WorkspaceSessionLog } from '@x/core/node';
import { command, positive, UsageError } from '../../command.js';
import { describeSession } from '../../find-session.js';
import { identityOptions, openWorkspace, scopeOf } from '../../identity-options.js';
import {
  namesStore,
  openSkipped,
  openStore,
  type StoreValues,
  storeOptions,
  withStore,
} from '../../open-store.js';
import { readInput } from '../../read-input.js';
import { storeOfAddress } from '../../stores.js';

const DAY_MS = 86_400_000;

/** Copies sessions between stores of any kind. */
export const copySessions = command({
  name: 'sessions copy',
  options: {
    to: {
      type: 'string',
      value: 'ADDRESS',
      help: 'The target: an address, or a file of SQLite.',
    },
    move: { type: 'boolean', help: 'Delete sessions after they are copied.' },
    'older-than': {
      type: 'string',
      value: 'DAYS',
      help: 'Only sessions that were not used for this many days.',
    },
    ...storeOptions,
    ...identityOptions,
  },
  summary:
    'Copies sessions to another store, where they count as last used now, in the same order; what is there already stays. Logs stay in the workspace. Without --to, those in .x/ of the workspace, or in the store that is named, become yours, with the permissions that they have.',
  examples: [
    'x sessions copy',
    'x sessions copy --to ./sessions.db',
    'x sessions copy --redis redis://localhost --to ./old.db --move --older-than 30',
  ],
  async run({ values, output }) {
    const { to, move = false, 'older-than': days } = values;
    const updatedBefore =
      days === undefined ? undefined : new Date(Date.now() - positive('older-than', days) * DAY_MS);
    const { workspace } = values;
    const target: StoreValues =
      to === undefined ? { workspace } : { workspace, [storeOfAddress(to) ?? 'sqlite']: to };
    const isSkipped = to === undefined && !namesStore(values);
    const from = isSkipped ? await openSkipped(values) : await openStore(values, { readOnly: !move });
    try {
      await withStore(target, { readOnly: false, createTables: true }, async (store) => {
        const report = await copyStore(from.store, store, { scope: scopeOf(values), updatedBefore, move });
        if (
          isSkipped &&
          report.copied + report.unchanged + report.busy.length + report.conflicts.length === 0
        ) {
          throw new UsageError(`.x/ of ${workspace} holds no sessions. To copy your own: --to ADDRESS`);
        }
        output.write(`Copied ${report.copied}; ${report.unchanged} were there already.\n`);
        for (const record of report.busy)
          output.write(`Skipped ${recordName(record)}: another process uses it.\n`);
        if (report.conflicts.length === 0) return;
        throw new UsageError(
          `The target has other sessions of these names: ${report.conflicts.map(recordName).join(', ')}`,
        );
      });
    } finally {
      await from.close();
    }
  },
});

/** Reads a file that {@link exportSession} wrote. */
export const importSession = command({
  name: 'sessions import',
  takes: 'FILE',
  options: { ...storeOptions, ...identityOptions },
  summary:
    'Stores the session of an exported file, and its log in the workspace; - for standard input. An existing session stays.',
  examples: ['x sessions import s-001.jsonl --redis redis://localhost'],
  async run({ values, positionals: [file = ''], output }) {
    const text = (await readInput(file)).trimEnd();
    const [first = '', ...lines] = text.split('\n');
    const { type, key: parts, state } = parsed(first) as Record<string, unknown>;
    if (type !== 'state') throw new UsageError(`${file} does not begin as x sessions export writes it.`);
    const key = SessionKey.of(parts as Parameters<typeof SessionKey.of>[0]);
    const whole = AgentState.fromJSON(state);
    const logged = lines.map((line) => (parsed(line) as { readonly message: Message }).message);
    // The operation id derives from the file, so that a repeated import is the same commit.
    const change = { operation: operationOf(text), expected: undefined, keep: 0 };
    await withStore(values, { readOnly: false, createTables: true }, async (store) => {
      // The log is written first, as in a call, but not if another session has this key.
      if (logged.length > 0 && (await store.load(key, { last: 0 })) === undefined) {
        await new WorkspaceSessionLog(openWorkspace(values), key).append(logged);
      }
      await store.commit(key, { ...change, head: whole.head(), append: whole.context });
    });
    output.write(`Imported ${describeSession(key.parts).replace('  ', ' ')}.\n`);
  },
});

function parsed(line: string): unknown {
  try {
    return Object(JSON.parse(line));
  } catch {
    return {};
  }
}
