import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  assistantMessage,
  InMemorySession,
  type Message,
  openSession,
  type Session,
  SessionKey,
  toolResultMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from '../../src/index.js';
import { mergeContext } from '../../src/sessions/merge.js';
import { commitAt } from '../commit-at.js';
import { numbered } from '../numbered.js';

const key = SessionKey.of('s');
const summary = (id: string, covers: readonly string[] = []) =>
  userMessage(`summary ${id}`, { id, kind: 'summary', metadata: { covers } });
const call = (id: string) =>
  assistantMessage([{ type: 'tool_use', id: `call-${id}`, name: 'read', input: {} }], { id });
const result = (id: string, callId: string, isError = false) =>
  toolResultMessage({ id: `call-${callId}`, name: 'read' }, `result ${id}`, { id, isError });
const ids = (messages: readonly Message[]) => messages.map(({ id }) => id);

describe('mergeContext', () => {
  const ancestor = numbered(4, 'a');
  const [s1, s2] = [numbered(2, 's'), numbered(2, 'o')];

  test.each<[string, readonly Message[], readonly Message[], readonly string[]]>([
    [
      'both appended',
      [...ancestor, ...s2],
      [...ancestor, ...s1],
      ['a0', 'a1', 'a2', 'a3', 's0', 's1', 'o0', 'o1'],
    ],
    [
      'the other compacted',
      [...ancestor, ...s2],
      [summary('S'), ...ancestor.slice(2), ...s1],
      ['S', 'a2', 'a3', 's0', 's1', 'o0', 'o1'],
    ],
    [
      'we compacted',
      [summary('O'), ...ancestor.slice(2), ...s2],
      [...ancestor, ...s1],
      ['O', 'a2', 'a3', 's0', 's1', 'o0', 'o1'],
    ],
    ['both compacted', [summary('O'), ...s2], [summary('S'), ...s1], ['S', 's0', 's1', 'o0', 'o1']],
    ['nothing is ours', ancestor, [...ancestor, ...s1], ['a0', 'a1', 'a2', 'a3', 's0', 's1']],
    [
      'ours was stored after all',
      [...ancestor, ...s2],
      [...ancestor, ...s2],
      ['a0', 'a1', 'a2', 'a3', 'o0', 'o1'],
    ],
  ])('%s', (_, ours, stored, expected) => {
    expect(ids(mergeContext({ ancestor, ours, stored }))).toEqual(expected);
  });

  test('brings back what our compaction had swallowed when the stored summary replaces ours', () => {
    const [first, second] = s2 as [Message, Message];
    const divergence = { ancestor, ours: [summary('O'), second], stored: [summary('S'), ...s1] };
    expect(ids(mergeContext({ ...divergence, added: [first, second] }))).toEqual([
      'S',
      's0',
      's1',
      'o0',
      'o1',
    ]);
  });

  test('keeps the masked form of what both know', () => {
    const masked = userMessage('masked', { id: 'a0' });
    const merged = mergeContext({
      ancestor,
      ours: [masked, ...ancestor.slice(1)],
      stored: [...ancestor, ...s1],
    });
    expect(merged[0]).toBe(masked);
    expect(ids(merged)).toEqual(['a0', 'a1', 'a2', 'a3', 's0', 's1']);
  });

  test('gives a call that is still running elsewhere a placeholder, and later its result', () => {
    const question = userMessage('?', { id: 'o0' });
    const first = mergeContext({ ancestor: [], ours: [question], stored: [call('c')] });
    expect(first.map(({ role }) => role)).toEqual(['assistant', 'tool', 'user']);
    expect(first[1]).toMatchObject({ metadata: { placeholder: true }, content: [{ isError: true }] });
    const second = mergeContext({
      ancestor: [call('c')],
      ours: [call('c'), result('r', 'c')],
      stored: first,
    });
    expect(ids(second)).toEqual(['c', 'r', 'o0']);
  });

  test('leaves the call that this writer is running open', () => {
    const merged = mergeContext({
      ancestor: [],
      ours: [userMessage('?', { id: 'o' }), call('c')],
      stored: s1,
    });
    expect(ids(merged)).toEqual(['s0', 's1', 'o', 'c']);
  });

  test('of two results of one call keeps the one that succeeded', () => {
    const begun = [call('c')];
    const stored = [...begun, result('crash', 'c', true), ...s1];
    const merged = mergeContext({ ancestor: begun, ours: [...begun, result('r', 'c')], stored });
    expect(ids(merged)).toEqual(['c', 'r', 's0', 's1']);
  });
});

/** A writer of the model: what it said, and what its compactions put into summaries. */
class Writer {
  readonly name: string;
  readonly session: Session;
  readonly said: Message[] = [];
  unstored: Message[] = [];
  #open: Message | undefined;
  #count = 0;

  private constructor(name: string, session: Session) {
    this.name = name;
    this.session = session;
  }

  static async open(store: InMemorySession, name: string): Promise<Writer> {
    const holder: { writer?: Writer } = {};
    const added = () => holder.writer?.unstored ?? [];
    holder.writer = new Writer(name, await openSession(store, key, { onConflict: 'merge', added }));
    return holder.writer;
  }

  async act(action: Action): Promise<void> {
    const id = `${this.name}${this.#count++}`;
    if (action.type === 'commit') await this.commit();
    else if (action.type === 'compact') this.#compact(id, action.share);
    else if (this.#open !== undefined) this.#closeCall();
    else if (action.type === 'say') this.#add(userMessage(id, { id }));
    else {
      this.#open = call(id);
      this.#add(this.#open);
    }
  }

  async commit(): Promise<void> {
    await this.session.commit();
    this.unstored = [];
  }

  async end(): Promise<void> {
    this.#closeCall();
    await this.commit();
  }

  #closeCall(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open !== undefined) this.#add(result(`${open.id}-result`, open.id));
  }

  #add(message: Message): void {
    this.session.state.contextMutable().push(message);
    this.said.push(message);
    this.unstored.push(message);
  }

  #compact(id: string, share: number): void {
    const context = this.session.state.contextMutable();
    let cut = Math.floor(share * context.length);
    // Never between a call and its results, nor an open call.
    while (cut > 0 && (isAnswer(context[cut]) || isOpen(context, cut - 1))) cut--;
    if (cut === 0) return;
    const covers = context.slice(0, cut).flatMap((message) => [message.id, ...coveredBy(message)]);
    context.splice(0, cut, summary(`summary-${id}`, covers));
  }
}

function isAnswer(message: Message | undefined): boolean {
  return message !== undefined && toolResultsOf(message).length > 0;
}

function isOpen(context: readonly Message[], index: number): boolean {
  return toolUsesOf(context[index] as Message).length > 0 && !isAnswer(context[index + 1]);
}

function coveredBy(message: Message): readonly string[] {
  return (message.metadata?.covers as readonly string[] | undefined) ?? [];
}

type Action =
  | { readonly type: 'say' | 'call' | 'commit' }
  | { readonly type: 'compact'; readonly share: number };

const action: fc.Arbitrary<readonly [writer: number, action: Action]> = fc.tuple(
  fc.nat(1),
  fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<Action>({ type: 'say' }, { type: 'call' }) },
    { weight: 2, arbitrary: fc.constant<Action>({ type: 'commit' }) },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('compact' as const),
        share: fc.double({ min: 0, max: 1, noNaN: true }),
      }),
    },
  ),
);

test('two writers lose nothing, say nothing twice, and stay paired and in order, whatever they do', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(6),
      fc.array(action, { maxLength: 40 }),
      fc.boolean(),
      async (size, actions, swap) => {
        const store = new InMemorySession();
        if (size > 0) {
          await commitAt(store, key, {
            expectedVersion: 0,
            head: { schemaVersion: 1, sessionId: 's' },
            keep: 0,
            append: numbered(size, 'ancestor-'),
          });
        }
        const writers = [await Writer.open(store, 'x'), await Writer.open(store, 'y')] as const;
        for (const [index, next] of actions) await writers[index === 0 ? 0 : 1].act(next);
        for (const writer of swap ? [writers[1], writers[0]] : writers) await writer.end();

        const stored = (await store.load(key))?.messages ?? [];
        const present = ids(stored);
        const covered = new Set(stored.flatMap(coveredBy));
        expect(new Set(present).size).toBe(present.length);
        expect(stored.filter(({ kind }) => kind === 'summary').length).toBeLessThanOrEqual(1);
        expect(stored.filter(({ metadata }) => metadata?.placeholder === true)).toEqual([]);
        for (const { name, said } of writers) {
          const lost = said.filter(
            ({ id }) => !present.includes(id) && !covered.has(id.replace('-result', '')),
          );
          expect(ids(lost)).toEqual([]);
          const own = present.filter((id) => id.startsWith(name));
          expect(own).toEqual(ids(said).filter((id) => own.includes(id)));
        }
        for (const [index, message] of stored.entries()) {
          for (const use of toolUsesOf(message)) {
            expect(toolResultsOf(stored[index + 1] as Message).map(({ toolUseId }) => toolUseId)).toEqual([
              use.id,
            ]);
          }
          for (const answer of toolResultsOf(message)) {
            expect(toolUsesOf(stored[index - 1] as Message).map(({ id }) => id)).toEqual([answer.toolUseId]);
          }
        }
      },
    ),
    { numRuns: 500 },
  );
});
