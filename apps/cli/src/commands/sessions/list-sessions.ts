import type { SessionInfo } from '@x/core';
import { oneLine, renderCompactionCost } from '@x/harness/view';
import { command } from '../../command.js';
import { describeSession } from '../../find-session.js';
import { identityOptions, scopeOf } from '../../identity-options.js';
import { namesStore, skippedHint, storeOptions, withStore } from '../../open-store.js';

/** Lists sessions, the latest first: all that can be listed, also when it fails in the end. */
export const listSessions = command({
  name: 'sessions list',
  options: {
    json: { type: 'boolean', help: 'One JSON object a session.' },
    ...storeOptions,
    ...identityOptions,
  },
  summary:
    'Lists sessions, the latest first: when each was last used, its version, whose it is, its title, and what its compactions cost.',
  async run({ values, output }) {
    const found: SessionInfo[] = [];
    let failure: { readonly error: unknown } | undefined;
    await withStore(values, { readOnly: true }, async (store) => {
      try {
        for await (const info of store.list(scopeOf(values))) found.push(info);
      } catch (error) {
        // A store says which sessions are damaged after it has listed the others.
        failure = { error };
      }
    });
    const now = Date.now();
    for (const { cursor: _, key, title = '', compaction, ...info } of found) {
      if (values.json) {
        output.write(`${JSON.stringify({ ...key.parts, ...info, title, compaction })}\n`);
      } else {
        const age = ageOf(info.updatedAt, now).padEnd(10);
        const cost = compaction ? `  [${renderCompactionCost(compaction)}]` : '';
        const line = `${age}  v${info.version}  ${describeSession(key.parts)}  ${title}${cost}`;
        output.write(`${oneLine(line.trimEnd())}\n`);
      }
    }
    if (failure !== undefined) throw failure.error;
    if (found.length > 0 || values.json) return;
    const hint = namesStore(values) ? undefined : skippedHint(values.workspace);
    output.write(hint === undefined ? 'No sessions.\n' : `No sessions. ${hint}\n`);
  },
});

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

/** How long ago a time was, in the largest unit that fits: `3 h ago`. A time ahead, of another clock, is now. */
export function ageOf(time: string, now: number): string {
  const passed = now - Date.parse(time);
  const [unit, length] = UNITS.find((each) => passed >= each[1]) ?? [];
  return length === undefined ? 'just now' : `${Math.floor(passed / length)} ${unit} ago`;
}
