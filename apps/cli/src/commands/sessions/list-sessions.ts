import type { SessionInfo } from '@x/core';
import { findHolder } from '@x/core/internal';
import { oneLine, renderCompactionCost } from '@x/harness/view';
import { ageOf } from '../../age.js';
import { command } from '../../command.js';
import { describeSession } from '../../find-session.js';
import { scopeOf } from '../../identity-options.js';
import { namesStore, sessionOptions, skippedHint, withStore } from '../../open-store.js';

/** Lists sessions, the latest first. If the store fails, prints the sessions found before the failure. */
export const listSessions = command({
  name: 'sessions list',
  options: {
    json: { type: 'boolean', help: 'One JSON object per session.' },
    ...sessionOptions,
  },
  summary:
    'Lists sessions, the latest first: with age, version, owner, title, the cost of compactions, and the process that uses the session.',
  async run({ values, output }) {
    const found: SessionInfo[] = [];
    const holders = new Map<SessionInfo, Awaited<ReturnType<typeof findHolder>>>();
    let failure: { readonly error: unknown } | undefined;
    await withStore(values, { readOnly: true }, async (store) => {
      try {
        for await (const info of store.list(scopeOf(values))) found.push(info);
      } catch (error) {
        // A store reports damaged sessions after it has listed the others.
        failure = { error };
      }
      for (let page = 0; page < found.length; page += PAGE) {
        const some = found.slice(page, page + PAGE);
        await Promise.all(some.map(async (info) => holders.set(info, await findHolder(store, info.key))));
      }
    });
    const now = Date.now();
    for (const each of found) {
      const { cursor: _, key, title = '', compaction, ...info } = each;
      const { pid, host, takenAt } = holders.get(each) ?? {};
      // An id of the boot or container follows the host name.
      const heldBy = takenAt === undefined ? undefined : { pid, host: host?.split('+', 1)[0], takenAt };
      if (values.json) {
        output.write(`${JSON.stringify({ ...key.parts, ...info, title, compaction, heldBy })}\n`);
      } else {
        const age = ageOf(info.updatedAt, now).padEnd(10);
        const cost = compaction ? `  [${renderCompactionCost(compaction)}]` : '';
        const holder = heldBy
          ? `  [in use by process ${heldBy.pid} on ${heldBy.host}, taken ${ageOf(heldBy.takenAt, now)}]`
          : '';
        const line = `${age}  v${info.version}  ${describeSession(key.parts)}  ${title}${cost}${holder}`;
        output.write(`${oneLine(line.trimEnd())}\n`);
      }
    }
    if (failure !== undefined) throw failure.error;
    if (found.length > 0 || values.json) return;
    const hint = namesStore(values) ? undefined : skippedHint(values.workspace);
    output.write(hint === undefined ? 'No sessions.\n' : `No sessions. ${hint}\n`);
  },
});

/** Number of sessions whose lease holders are queried concurrently. */
const PAGE = 50;
