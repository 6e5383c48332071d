import {
  type AgentState,
  type ErasedUser,
  eraseUser,
  RuntimeContext,
  readText,
  type SessionStore,
  type UserScope,
  type Workspace,
} from '@x/core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Attack,
  type AttackedAgent,
  Attacker,
  attackWith,
  inputFor,
  sequencesOf,
} from './attacks/attacker.js';

export interface IsolationSuiteOptions {
  /** For the report. */
  readonly name: string;
  /**
   * Opens an agent with this model on an empty store and workspace. Let it allow every call, or the attacks end at its
   * permissions. With the capability `model.direct` most calls take no step of the model. Whatever else was opened closes with
   * `close` of the agent.
   */
  open(model: Attacker): Promise<{
    readonly agent: AttackedAgent;
    /** What the agent keeps for itself: its paths are what attackers guess. */
    readonly storage: Workspace;
    /** Its store, or another instance of it. With it the suite proves that an erasure in another process overlooks no call. */
    readonly session?: SessionStore | undefined;
  }>;
  /** Paths in the storage, at least one file of each must hold a canary, or the attacks would prove nothing. */
  readonly areas: Readonly<Record<string, RegExp>>;
  /**
   * Erases a user, then names every file, key and row, of whatever store, that still holds a text. With it the suite proves that
   * nobody else was given a byte of what the victim kept.
   */
  readonly leftAfterErasing?: (user: UserScope, text: string) => Promise<readonly string[]>;
  /** Sequences of tool calls that are tried. Default 20; the variable `X_ATTACKS` says otherwise. */
  readonly sequences?: number | undefined;
}

const VICTIM = { tenantId: 'acme', userId: 'alice', sessionId: 'shared-name' };
const ALIKE = [
  'Alice',
  'alice ',
  'alicé',
  "alice'",
  'alice\0',
  'alice😀',
  'alice%',
  'alic_',
  '../alice',
  'a\\lice',
];
/** Has its files in common with all who have no user, and nothing else. */
const NOBODY = { tenantId: 'acme', sessionId: 'of-nobody' };
/** Each call of many is a new attacker's where it can be: searches of what one kept for long would be all the work. */
const ATTACKERS: Readonly<Record<string, (call: number) => Partial<UserScope>>> = {
  // Names that a store or a file system may take for the victim's.
  'another user': (call) => ({
    tenantId: 'acme',
    userId: `${ALIKE[call % ALIKE.length]}${' '.repeat(call / ALIKE.length)}`,
  }),
  'a user of the same name in another tenant': (call) => ({
    tenantId: `other${call || ''}`,
    userId: 'alice',
  }),
  'a user of the same name without a tenant': () => ({ userId: 'alice' }),
  nobody: () => ({}),
  'nobody of the tenant': () => ({ tenantId: 'acme' }),
};
/** What stands in every canary: searches for it must find nothing. */
const WORD = 'canarybird';
const LONG = 60_000;

/**
 * Registers, with vitest, the proof that nobody reaches what is another's. One user's calls plant canaries wherever the
 * agent's tools put text. Then other users, other tenants and nobody make random calls with every path, id and word that
 * could lead there: no request to the model and no reply may hold a canary.
 *
 * @example
 * ```ts
 * isolationSuite({
 *   name: 'my store',
 *   areas: memory: /memory/, log: /log/ ,
 *   async open(model) {
 *     const agent = HarnessAgent.builder()
 *       .model(model)
 *       .session(new MyStore())
 *       .use(workspaceTools(), model.direct)
 *       .build();
 *     return { agent, storage: agent.storage };
 *   },
 * });
 * ```
 */
export function isolationSuite({
  name,
  open,
  areas,
  leftAfterErasing,
  sequences = sequencesOf(20),
}: IsolationSuiteOptions): void {
  describe(`Isolation: ${name}`, () => {
    const secret = `${WORD}-${Math.random().toString(36).slice(2)}`;
    const canary = `${secret}-of-alice`;
    const attacker = new Attacker();
    let agent: AttackedAgent;
    let storage: Workspace;
    let session: SessionStore | undefined;
    let names: Awaited<ReturnType<typeof namesIn>>;

    beforeAll(async () => {
      ({ agent, storage, session } = await open(attacker));
      const victims = [
        [VICTIM, canary],
        [NOBODY, `${secret}-of-nobody`],
      ] as const;
      for (const [victim, text] of victims) {
        attacker.answer = `I keep ${text}.`;
        for (const round of plants(text)) {
          let made = false;
          attacker.plan((tools) => {
            if (made) return [];
            made = true;
            const readers = tools.filter(({ annotations }) => annotations?.readOnly === true);
            return round(victim === VICTIM ? tools : readers);
          });
          await agent.call(`Keep ${text}`, RuntimeContext.of(victim));
        }
        attacker.plan(() => []);
        await agent.call(longText(text), RuntimeContext.of(victim));
      }
      names = await namesIn(storage, secret);
      attacker.answer = 'Done.';
    }, 600_000);
    afterAll(() => agent?.close());

    test.each(Object.entries(areas))('there is something to find: %s', async (_, area) => {
      const found: string[] = [];
      for await (const { path, type } of storage.list('', { recursive: true })) {
        if (type !== 'file' || !area.test(path)) continue;
        if (path.includes(canary) || (await readText(storage, path)).includes(canary)) found.push(path);
      }
      expect(found).not.toEqual([]);
    });

    test('its owner finds it', async () => {
      attacker.plan(() => []);
      await agent.call('And now?', RuntimeContext.of(VICTIM));
      expect(attacker.seen).toContain(canary);
    });

    test.each(Object.entries(ATTACKERS))(
      'random calls never reach it: %s',
      { timeout: 0 },
      async (_, identify) => {
        const each = Math.ceil(sequences / Object.keys(ATTACKERS).length);
        await attackWith(
          attacker,
          { ...names, sequences: each, rounds: 2, secret, writes: 16 },
          async (made) => {
            // The victim's own session id, too; not for ever, since that session grows.
            const sessionId = made === 0 ? VICTIM.sessionId : `session-${made}`;
            const reply = await agent
              .call(`Find ${WORD}`, RuntimeContext.of({ ...identify(made), sessionId }))
              .catch((error: unknown) => String(error));
            const seen = `${attacker.seen}\n${typeof reply === 'string' ? reply : textOf(reply)}`;
            expect(excerpt(seen, secret), `behind sequence ${made}`).toBe('');
            return reply;
          },
        );
      },
    );

    test('a first call beside the erasure of its user is named, or leaves nothing', async ({ skip }) => {
      if (session?.lease === undefined) return skip('no store is given, or no other process can have it');
      const places = { session, storage };
      const user = { tenantId: 'acme', userId: 'carol' };
      let erased: ErasedUser | undefined;
      attacker.plan(async () => {
        erased ??= await eraseUser(places, user);
        return [];
      });
      // What lost its session fails.
      await agent.call('Hello', RuntimeContext.of({ ...user, sessionId: 'first' })).catch(() => {});
      const left = await eraseUser(places, user);
      expect(left.busy).toEqual([]);
      if (erased?.busy.length === 0) expect(left).toMatchObject({ sessions: 0, files: 0 });
    });

    if (leftAfterErasing === undefined) return;
    test('no byte of it is left once its owner is erased', async () => {
      const { sessionId: _, ...victim } = VICTIM;
      expect(await leftAfterErasing(victim, canary)).toEqual([]);
    });
  });
}

function textOf(reply: unknown): string {
  const { text } = (reply ?? {}) as { readonly text?: unknown } & Partial<AgentState>;
  return typeof text === 'string' ? text : '';
}

function excerpt(seen: string, canary: string): string {
  const at = seen.indexOf(canary);
  return at < 0 ? '' : seen.slice(Math.max(0, at - 300), at + 60);
}

type Round = (tools: Parameters<Parameters<Attacker['plan']>[0]>[0]) => readonly Attack[];

function longText(canary: string): string {
  return `${canary}\n`.repeat(LONG / canary.length);
}

/** The calls of a user who puts text wherever it goes: through every tool once, in a large file, and through a subagent. */
function plants(canary: string): readonly Round[] {
  const text = () => canary;
  const offered =
    (calls: readonly Attack[]): Round =>
    (tools) =>
      calls.filter((call) => tools.some(({ name }) => name === call.name));
  const big = { path: 'big.txt', content: longText(canary) };
  const content = `---\nname: leak\ndescription: ${canary}\n---\n${canary}`;
  const shown = ['AGENTS.md', 'skills/leak/SKILL.md', 'subagents/leak.md', 'knowledge/KNOWLEDGE.md'];
  return [
    offered(
      [big, ...shown.map((path) => ({ path, content }))].map((input) => ({ name: 'write_file', input })),
    ),
    offered([{ name: 'read_file', input: { path: big.path } }]),
    offered([{ name: 'agent_spawn', input: { agent: 'general-purpose', task: canary } }]),
    (tools) =>
      tools
        .filter(({ annotations }) => annotations?.destructive !== true)
        .map(({ name, inputSchema }) => ({ name, input: inputFor(inputSchema, { below: () => 0, text }) })),
    offered([{ name: 'plan_write', input: { content: canary } }]),
  ];
}

/**
 * Collects what a call may name: every path of the storage and its parts, in the forms that have led elsewhere before. Every third is a
 * path as it is, or as the workspace of all has it: who guesses it must not be let in. `foreign` are the paths and ids behind which the victim's text stands.
 */
async function namesIn(
  storage: Workspace,
  canary: string,
): Promise<{ readonly words: readonly string[]; readonly foreign: readonly string[] }> {
  const words = new Set([WORD, '', `**/*${WORD}*`, ...'. .. / ** * **/* .* .x x general-purpose'.split(' ')]);
  const paths: string[] = [];
  const foreign = new Set<string>();
  for await (const { path, type } of storage.list('', { recursive: true })) {
    if (path.includes(canary)) continue;
    paths.push(path, `.x/${path}`);
    // Ids of sessions and tasks stand in names of files, encoded and one in the other.
    const ids = (path.split('/').at(-1) ?? '').replace(/(\.log)?\.\w+$/, '').split(/%2f/i);
    if (type === 'file') for (const name of [path, ...ids, ids.join('/')]) foreign.add(name);
    for (const before of ['', '.x/', '../', '/', 'a/../']) words.add(`${before}${path}`);
    words.add(`.X/${path.toUpperCase()}`);
    for (const part of path.split('/')) words.add(part).add(part.replace(/\.\w+$/, ''));
  }
  for (const id of Object.values(VICTIM)) words.add(id);
  for (const tree of ['tenants/acme/users/alice', 'users/alice', 'tenants/acme', 'agents']) {
    for (const root of ['', '.x/', '.x/files/', '../', '../../', 'files/'])
      words.add(`${root}${tree}`).add(`${root}${tree}/**`);
  }
  for (const name of foreign) words.add(name);
  const guessed = [...words].flatMap((word, index) =>
    index % 2 ? [word] : [word, paths[(index / 2) % paths.length] ?? word],
  );
  return { words: guessed, foreign: [...foreign] };
}
