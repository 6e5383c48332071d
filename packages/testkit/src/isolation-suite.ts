import { eraseUser, RuntimeContext, readText, type SessionStore, type Workspace } from '@x/core';
import type { ErasedUser, UserScope } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import {
  type Attack,
  type AttackedAgent,
  Attacker,
  attackWith,
  excerptAround,
  inputFor,
  isReader,
  sequencesOf,
} from './attacks/attacker.js';
import { placeOf, swapping } from './attacks/swapping.js';

/** Options of {@link isolationSuite}. */
export interface IsolationSuiteOptions {
  /** Printed in the title of the suite. */
  readonly name: string;
  /**
   * Opens your agent with this model, on an empty store and workspace. Allow every tool call; otherwise the permissions stop the attacks.
   * The agent's `close` must also close everything else that you opened.
   */
  open(model: Attacker): Promise<{
    readonly agent: AttackedAgent;
    /** The agent's own files, for example `agent.storage`. The attackers guess its paths. */
    readonly storage: Workspace;
    /** The agent's session store, or another instance of it. With it, the suite erases a user while a call of the user runs. */
    readonly session?: SessionStore | undefined;
  }>;
  /**
   * Patterns for paths in the storage, by name. At least one file of each must contain planted text; otherwise the attacks would prove
   * nothing.
   */
  readonly areas: Readonly<Record<string, RegExp>>;
  /**
   * Erases a user everywhere, and returns the name of every file, key and row that still contains the text. If set, the suite checks that
   * erasing a user leaves nothing.
   */
  readonly leftAfterErasing?: (user: UserScope, text: string) => Promise<readonly string[]>;
  /** Number of random call sequences, divided among all attackers. Default: the environment variable `X_ATTACKS`, otherwise 20. */
  readonly sequences?: number | undefined;
}

const VICTIM = { tenantId: 'acme', userId: 'alice', sessionId: 'shared-name' };
/** User ids that a store or a file system may confuse with the victim's. */
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
/** A caller without a user. It shares its files with all others without a user, but not its session. */
const ANONYMOUS = { tenantId: 'acme', sessionId: 'of-nobody' };
/** Attackers by name. If possible, each call has a new user id, because searching the growing files of one user would take too long. */
const ATTACKERS: Readonly<Record<string, (call: number) => Partial<UserScope>>> = {
  'another user': (call) => ({
    tenantId: 'acme',
    userId: `${ALIKE[call % ALIKE.length]}${' '.repeat(call / ALIKE.length)}`,
  }),
  'a user of the same name in another tenant': (call) => ({
    tenantId: `other${call || ''}`,
    userId: 'alice',
  }),
  'a user of the same name without a tenant': () => ({ userId: 'alice' }),
  'a call without a user': () => ({}),
  'a call without a user in the same tenant': () => ({ tenantId: 'acme' }),
};
/** Part of every planted text. Searches for it must find nothing. */
const WORD = 'canarybird';
const LONG = 60_000;
/** Number of the victim's files that the symlink attack swaps in. The command that swaps them ends after a minute. */
const SWAPPED = 6;
const SWAP_SEQUENCES = 100;

/**
 * Registers Vitest tests which check that no user of your agent can access another user's data. One user plants a text wherever the
 * agent's tools store text. Then other users, other tenants and calls without a user make random tool calls with every path, id and word
 * that could lead to the text. It must not appear in a request to the model or in a reply.
 *
 * @example
 * ```ts
 * isolationSuite({
 *   name: 'my agent',
 *   areas: { sessions: /\/context\//, logs: /\.log\.jsonl$/, files: /^files\// },
 *   async open(model) {
 *     const agent = HarnessAgent.builder()
 *       .model(model)
 *       .workspace(mkdtempSync(join(tmpdir(), 'isolation-')))
 *       .use(workspaceTools())
 *       .build();
 *     return { agent, storage: agent.storage, session: agent.session };
 *   },
 * });
 * ```
 */
export function isolationSuite(options: IsolationSuiteOptions): void {
  const { name, open, areas, leftAfterErasing, sequences = sequencesOf(20) } = options;
  describe(`Isolation: ${name}`, () => {
    // Long because its tests share one agent.
    const secret = `${WORD}-${Math.random().toString(36).slice(2)}`;
    const planted = `${secret}-of-alice`;
    const attacker = new Attacker();
    let agent: AttackedAgent;
    let storage: Workspace;
    let session: SessionStore | undefined;
    let names: Awaited<ReturnType<typeof namesIn>>;

    beforeAll(async () => {
      ({ agent, storage, session } = await open(attacker));
      await plant(attacker, agent, VICTIM, planted);
      await plant(attacker, agent, ANONYMOUS, `${secret}-of-nobody`);
      names = await namesIn(storage, secret);
      attacker.answer = 'Done.';
    }, 600_000);
    afterAll(() => agent?.close());

    test.each(Object.entries(areas))('planted text is stored: %s', async (_, area) => {
      const found = await filesWith(storage, planted, area);
      expect(found, `files that match ${area} and contain planted text`).not.toEqual([]);
    });

    test('the owner can read the planted text', async () => {
      attacker.plan(() => []);
      await agent.call('And now?', RuntimeContext.of(VICTIM));
      expect(attacker.seen).toContain(planted);
    });

    test.each(Object.entries(ATTACKERS))(
      'random calls never reach the planted text: %s',
      { timeout: 0 },
      async (who, identify) => {
        const each = Math.ceil(sequences / Object.keys(ATTACKERS).length);
        await attackWith(attacker, { ...names, sequences: each, rounds: 2, writes: 16 }, async (made) => {
          // Also uses the session id of the victim, but only once, because that session grows.
          const sessionId = made === 0 ? VICTIM.sessionId : `session-${made}`;
          const reply = await agent
            .call(`Find ${WORD}`, RuntimeContext.of({ ...identify(made), sessionId }))
            .catch((error: unknown) => String(error));
          const leak = excerptAround(secret, `${attacker.seen}\n${textOf(reply)}`);
          if (leak === undefined) return reply;
          throw new Error(`In call ${made + 1}, ${who} was shown planted text of another user:\n${leak}`);
        });
      },
    );

    test('files that one session swaps give another session no access', { timeout: 0 }, async ({ skip }) => {
      const files = (await filesWith(storage, planted)).slice(-SWAPPED);
      const { command, paths } = swapping(storage, files);
      const user = { tenantId: 'acme', userId: 'mallory' };
      let calls: readonly Attack[] | undefined;
      attacker.plan((tools) => {
        if (calls !== undefined) return [];
        const shells = tools.filter(({ inputSchema }) => takesCommand(inputSchema));
        calls = shells.map(({ name }) => ({ name, input: { command } }));
        return calls;
      });
      const before = await textsOf(storage, files);
      let hasEnded = false;
      const first = agent
        .call('Swap', RuntimeContext.of({ ...user, sessionId: 'first' }))
        .catch(String)
        .finally(() => {
          hasEnded = true;
        });
      const leakIn = (reply: unknown) => excerptAround(secret, `${attacker.seen}\n${textOf(reply)}`);
      let place: string | undefined;
      let leak: string | undefined;
      try {
        const isFound = async () => {
          place = await placeOf(storage);
          return place !== undefined || hasEnded;
        };
        await vi.waitUntil(isFound, { timeout: 60_000, interval: 50 }).catch(() => {});
        if (calls?.length === 0) return skip('the agent has no tool that takes a command');
        if (place === undefined) throw new Error('The command of the first session swapped no files.');
        const most = Math.min(sequences, SWAP_SEQUENCES);
        const attacks = { words: [WORD, ...paths], foreign: paths, sequences: most, rounds: 2 };
        await attackWith(attacker, attacks, async (made) => {
          const reply = await agent
            .call('Read', RuntimeContext.of({ ...user, sessionId: `second-${made}` }))
            .catch(String);
          leak ??= leakIn(reply);
          return reply;
        });
      } finally {
        // The first call must not carry out the plans of later tests.
        attacker.plan(() => []);
        if (place !== undefined) await storage.write(`${place}/stop`, '');
        const reply = await first;
        leak ??= leakIn(reply);
      }
      expect(leak).toBeUndefined();
      expect(await textsOf(storage, files)).toEqual(before);
    });

    test('erasing a user during their first call reports the call or leaves nothing', async ({ skip }) => {
      if (session?.leases === undefined)
        return skip('`open` returns no session store, or the store has no leases');
      const places = { session, storage };
      const user = { tenantId: 'acme', userId: 'carol' };
      let erased: ErasedUser | undefined;
      attacker.plan(async () => {
        erased ??= await eraseUser(places, user);
        return [];
      });
      // The call fails if it lost its session.
      await agent.call('Hello', RuntimeContext.of({ ...user, sessionId: 'first' })).catch(() => {});
      const left = await eraseUser(places, user);
      expect(left.busy).toEqual([]);
      if (erased?.busy.length === 0) expect(left).toMatchObject({ sessions: 0, files: 0 });
    });

    if (leftAfterErasing === undefined) return;
    test('erasing the owner deletes all planted text', async () => {
      const { sessionId: _, ...victim } = VICTIM;
      expect(await leftAfterErasing(victim, planted)).toEqual([]);
    });
  });
}

function takesCommand({ properties }: ToolDefinition['inputSchema']): boolean {
  return typeof properties === 'object' && properties !== null && 'command' in properties;
}

/** Returns the files whose path or text contains a text. */
async function filesWith(storage: Workspace, text: string, area = /\//): Promise<readonly string[]> {
  const found: string[] = [];
  for await (const { path, type } of storage.list('', { recursive: true }))
    if (type === 'file' && area.test(path) && (path + (await readText(storage, path))).includes(text))
      found.push(path);
  return found;
}

/** Returns the texts of all files in the folders of the given files. */
async function textsOf(storage: Workspace, files: readonly string[]): Promise<readonly string[]> {
  const folders = new Set(files.map((file) => file.slice(0, file.lastIndexOf('/'))));
  const found: string[] = [];
  for await (const { path } of storage.list('', { recursive: true }))
    if (folders.has(path.slice(0, path.lastIndexOf('/'))))
      found.push(files.includes(path) ? `${path}: ${await readText(storage, path)}` : path);
  return found;
}

function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply;
  const { text } = (reply ?? {}) as { readonly text?: unknown };
  return typeof text === 'string' ? text : '';
}

/** Makes a user plant a text wherever the agent stores text: through every tool once, a large file, a subagent, and a long message. */
async function plant(
  attacker: Attacker,
  agent: AttackedAgent,
  user: Parameters<typeof RuntimeContext.of>[0] & object,
  text: string,
): Promise<void> {
  attacker.answer = `I keep ${text}.`;
  for (const round of plants(text)) {
    let isMade = false;
    attacker.plan((tools) => {
      if (isMade) return [];
      isMade = true;
      return round(user === VICTIM ? tools : tools.filter(isReader));
    });
    await agent.call(`Keep ${text}`, RuntimeContext.of(user));
  }
  attacker.plan(() => []);
  await agent.call(longText(text), RuntimeContext.of(user));
}

type Round = (tools: Parameters<Parameters<Attacker['plan']>[0]>[0]) => readonly Attack[];

function longText(text: string): string {
  return `${text}\n`.repeat(LONG / text.length);
}

/** Returns the calls with which a user plants a text, one entry for each answer of the model. */
function plants(planted: string): readonly Round[] {
  const text = () => planted;
  const offered =
    (calls: readonly Attack[]): Round =>
    (tools) =>
      calls.filter((call) => tools.some(({ name }) => name === call.name));
  const big = { path: 'big.txt', content: longText(planted) };
  const content = `---\nname: leak\ndescription: ${planted}\n---\n${planted}`;
  const shown = ['AGENTS.md', 'skills/leak/SKILL.md', 'subagents/leak.md'];
  return [
    offered(
      [big, ...shown.map((path) => ({ path, content }))].map((input) => ({ name: 'write_file', input })),
    ),
    offered([{ name: 'read_file', input: { path: big.path } }]),
    offered([{ name: 'agent_spawn', input: { agent: 'general-purpose', task: planted } }]),
    (tools) =>
      tools
        .filter(({ annotations }) => annotations?.destructive !== true)
        .map(({ name, inputSchema }) => ({ name, input: inputFor(inputSchema, { below: () => 0, text }) })),
    offered([{ name: 'plan_write', input: { content: planted } }]),
  ];
}

/**
 * Collects texts for the inputs of attackers: the paths of the storage and their parts, in forms that path checks have missed before. Every
 * third is a whole path, unchanged or below `.x/`, because even a correct guess must fail. `foreign` are the paths and ids that lead to
 * planted text.
 */
async function namesIn(
  storage: Workspace,
  secret: string,
): Promise<{ readonly words: readonly string[]; readonly foreign: readonly string[] }> {
  const words = new Set([WORD, '', `**/*${WORD}*`, ...'. .. / ** * **/* .* .x x general-purpose'.split(' ')]);
  const paths: string[] = [];
  const foreign = new Set<string>();
  for await (const { path, type } of storage.list('', { recursive: true })) {
    if (path.includes(secret)) continue;
    paths.push(path, `.x/${path}`);
    // File names contain encoded ids of sessions and tasks, which may be nested.
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
