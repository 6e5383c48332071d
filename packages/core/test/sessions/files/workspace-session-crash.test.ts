import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  type JsonObject,
  type Message,
  SessionKey,
  type SessionStore,
  type Workspace,
} from '../../../src/index.js';
import { LocalWorkspace, WorkspaceSession } from '../../../src/node.js';
import { commitAt } from '../../commit-at.js';
import { type Crash, Crashed, CrashingWorkspace } from '../../crashing-workspace.js';
import { numbered } from '../../numbered.js';
import { temporaryDirectory } from '../../temporary-directory.js';

// Disks that are busy take their time.
vi.setConfig({ testTimeout: 300_000 });

const key = SessionKey.of({ userId: 'u', sessionId: 's' });

interface Stored {
  readonly version: number;
  readonly head: JsonObject;
  readonly messages: readonly Message[];
}

interface Step {
  readonly change: 'delete' | { readonly keep: number; readonly append: number };
  readonly crash: Crash | undefined;
}

const moment = fc.oneof(
  fc.constantFrom('before' as const, 'after' as const),
  fc.record({ part: fc.nat({ max: 400 }) }),
);
const step: fc.Arbitrary<Step> = fc.record({
  change: fc.oneof(
    { weight: 2, arbitrary: fc.constant('delete' as const) },
    {
      weight: 6,
      // Of ten tenths; most often everything is kept.
      arbitrary: fc.record({
        keep: fc.oneof(fc.constant(10), fc.nat({ max: 10 })),
        append: fc.nat({ max: 3 }),
      }),
    },
  ),
  crash: fc.option(fc.record({ change: fc.integer({ min: 1, max: 4 }), moment }), { nil: undefined }),
});

async function load(workspace: Workspace): Promise<Stored | undefined> {
  const stored = await new WorkspaceSession(workspace).load(key);
  return stored && { version: stored.version, head: stored.head, messages: stored.messages };
}

/** What a step makes of a session. */
function after(before: Stored | undefined, change: Step['change'], index: number): Stored | undefined {
  if (change === 'delete') return undefined;
  const messages = before?.messages ?? [];
  const keep = Math.floor((messages.length * change.keep) / 10);
  return {
    version: (before?.version ?? 0) + 1,
    head: { index },
    messages: [...messages.slice(0, keep), ...numbered(change.append, `${index}-`)],
  };
}

async function run(store: SessionStore, before: Stored | undefined, { change }: Step, index: number) {
  if (change === 'delete') return store.delete(key);
  return commitAt(store, key, {
    expectedVersion: before?.version ?? 0,
    head: { index },
    keep: Math.floor(((before?.messages.length ?? 0) * change.keep) / 10),
    append: numbered(change.append, `${index}-`),
  });
}

describe('a process that dies at any moment', () => {
  test('leaves the session as it was or as it was to become', async () => {
    const directory = await temporaryDirectory();
    let run_ = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
        const workspace = new LocalWorkspace(`${directory}/${run_++}`);
        let current: Stored | undefined;
        for (const [index, each] of steps.entries()) {
          const expected = after(current, each.change, index);
          const store = new WorkspaceSession(new CrashingWorkspace(workspace, each.crash));
          let crashed = false;
          try {
            await run(store, current, each, index);
          } catch (error) {
            if (!(error instanceof Crashed)) throw error;
            crashed = true;
          }
          const found = await load(workspace);
          if (crashed && found?.version === current?.version) expect(found).toEqual(current);
          else expect(found).toEqual(expected);
          current = found;
        }
      }),
      { numRuns: 80 },
    );
  });

  test('leaves no file that a later commit does not clear away', async () => {
    const workspace = new LocalWorkspace(await temporaryDirectory());
    const store = new WorkspaceSession(workspace);
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: numbered(3) });
    for (const moment of ['after', { part: 7 }] as const) {
      const crashing = new WorkspaceSession(new CrashingWorkspace(workspace, { change: 1, moment }));
      const change = { expectedVersion: 'latest', head: {}, keep: 0, append: numbered(2) } as const;
      await expect(commitAt(crashing, key, change)).rejects.toThrow(Crashed);
    }
    await commitAt(store, key, { expectedVersion: 1, head: {}, keep: 0, append: numbered(1) });
    const files: string[] = [];
    for await (const { path } of workspace.list('users/u/context/s'))
      files.push(path.split('/').at(-1) ?? '');
    expect(files).toEqual([
      expect.stringMatching(/^head-[0-9a-f]{16}-2\.json$/),
      'head.json',
      expect.stringMatching(/^segment-[0-9a-f]{16}\.jsonl$/),
    ]);
  });
});
