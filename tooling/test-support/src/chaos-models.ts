import type { ContentBlock, FinishReason, Model, ModelStreamPart, StopReason, Usage } from '@x/core';

/** A model with one kind of misbehavior. */
export interface ChaosModel {
  readonly name: string;
  /**
   * The expected end of a call: `stalls` ends by a time limit, `fails` with an error, `answers` with a reply, and `settles` with an error or
   * a reply. In each case, the session can be opened afterwards.
   */
  readonly ends: 'stalls' | 'fails' | 'answers' | 'settles';
  /** The stop reason of a call that ends with a reply. Default `completed`. */
  readonly stopReason?: StopReason;
  /** Whether the first answer calls a tool, so that another step follows. */
  readonly calls?: boolean;
  /** Whether the request itself is rejected, so that no fallback model takes over. */
  readonly refuses?: boolean;
  /** Creates a new model. If there is a tool `act`, some models call it. */
  open(): Model;
}

const never = new Promise<never>(() => {});
const USAGE: Usage = { inputTokens: 10, outputTokens: 1 };
const text: ContentBlock = { type: 'text', text: 'Well' };
const act = (id: string): ContentBlock => ({ type: 'tool_use', id, name: 'act', input: {} });

/** Returns a model that streams some parts and then hangs, even after an abort. */
function hangsAfter(name: string, ...parts: readonly ModelStreamPart[]): ChaosModel {
  return {
    name: `hangs after ${name}`,
    ends: 'stalls',
    open: () => ({
      id: 'chaos',
      generate: () => never,
      async *stream() {
        yield* parts;
        await never;
      },
    }),
  };
}

/** Returns a model with these answers, in order. The last one repeats. Answers may be invalid. */
function gives(name: string, ends: ChaosModel['ends'], ...answers: readonly unknown[]): ChaosModel {
  const open = () => {
    let count = 0;
    const next = () => answers[Math.min(count++, answers.length - 1)];
    return {
      id: 'chaos',
      generate: async () => next(),
      async *stream() {
        yield { type: 'response', response: next() };
      },
    } as unknown as Model;
  };
  const [first] = answers as readonly ({ content?: unknown; finishReason?: FinishReason } | undefined)[];
  const calls = Array.isArray(first?.content) && first.content.some((block) => block?.type === 'tool_use');
  const stopReason = calls ? undefined : CUT[first?.finishReason ?? 'stop'];
  return { name, ends, open, calls, ...(stopReason && { stopReason }) };
}

const CUT: Readonly<Partial<Record<FinishReason, StopReason>>> = {
  length: 'truncated',
  'content-filter': 'filtered',
  refusal: 'refused',
};

function answer(content: unknown, finishReason: FinishReason = 'stop', usage: unknown = USAGE): object {
  return { content, finishReason, usage };
}

const done = answer([text]);
const calls = (...ids: readonly string[]) => answer(ids.map(act), 'tool-calls');
const odd = (block: unknown) => answer([text, block]);
const use = { type: 'tool_use', id: 'c', name: 'act' };

/**
 * Models with all known kinds of misbehavior, deterministic. For each of them, a harness must end the call within its limits, report the
 * reason, and leave a session that can be opened.
 */
export const chaosModels: readonly ChaosModel[] = [
  hangsAfter('nothing'),
  hangsAfter('a thought', { type: 'thinking-delta', text: 'Hm' }),
  hangsAfter('some text', { type: 'text-delta', text: 'We' }),
  hangsAfter('half a call', { type: 'tool-call-delta', id: 'c', name: 'act', inputDelta: '{"a' }),
  {
    name: 'hangs when it is told to stop',
    ends: 'stalls',
    open: () => ({
      id: 'chaos',
      generate: () => never,
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => never, return: () => never }) }),
    }),
  },
  gives(
    'usage that is NaN',
    'answers',
    answer([text], 'stop', { inputTokens: Number.NaN, outputTokens: Number.NaN }),
  ),
  gives('negative usage', 'answers', answer([text], 'stop', { inputTokens: -1, outputTokens: -5 })),
  gives('no usage', 'answers', answer([text], 'stop', undefined)),
  gives('usage that is null', 'answers', answer([text], 'stop', null)),
  gives('one id for two calls of an answer', 'answers', calls('c', 'c'), done),
  gives('one id for calls of two answers', 'answers', calls('c'), calls('c'), done),
  gives('a call without an id', 'answers', calls(''), done),
  gives(
    'a call of a tool that does not exist',
    'answers',
    answer([{ ...use, name: 'nobody', input: {} }], 'tool-calls'),
    done,
  ),
  gives('nothing at all', 'answers', answer([])),
  gives('an empty text', 'answers', answer([{ type: 'text', text: '' }])),
  gives('a cut text', 'answers', answer([text], 'length')),
  gives('a cut call', 'answers', answer([text, act('c')], 'length'), done),
  gives('a withheld answer', 'answers', answer([], 'content-filter')),
  gives('a refusal', 'answers', answer([text], 'refusal')),
  gives('calls that it says are none', 'answers', answer([act('c')], 'stop'), done),
  gives('no calls that it says are some', 'answers', answer([text], 'tool-calls')),
  gives(
    'an item of another provider',
    'answers',
    odd({ type: 'opaque', provider: 'elsewhere', data: { secret: 1 } }),
  ),
  gives(
    'a result that nobody asked for',
    'answers',
    odd({ type: 'tool_result', toolUseId: 'x', toolName: 'act', output: [], isError: false }),
  ),
  gives('an error as its end', 'fails', answer([text], 'error')),
  gives('a block of no known type', 'fails', odd({ type: 'hologram' })),
  gives('a text without text', 'fails', odd({ type: 'text' })),
  gives('a call without input', 'fails', odd(use)),
  gives('a function', 'fails', odd({ ...use, input: () => 1 })),
  gives('no list', 'fails', answer('Well')),
  gives('null for content', 'fails', answer(null)),
  gives('undefined', 'fails', undefined),
  {
    name: 'a stream without an answer',
    ends: 'fails',
    open: () => ({
      id: 'chaos',
      generate: () => Promise.reject(new Error('broken')),
      async *stream() {
        yield { type: 'text-delta', text: 'We' };
      },
    }),
  },
  {
    name: 'what it throws is no error',
    ends: 'fails',
    open: () => ({ id: 'chaos', generate: () => Promise.reject('broken') }),
  },
];
