import {
  AgentState,
  type Message,
  type Model,
  type ModelResponse,
  type ReasonScope,
  textOf,
  userMessage,
} from '@x/core';
import { systemClock } from '@x/core/internal';
import { assertPaired } from '@x/test-support';
import { describe, expect, it, vi } from 'vitest';
import { type CompactionCapabilityConfig, compaction, createCompactor } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf, said } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

const answer: ModelResponse = { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
/** Two thirds of the window, so that a few more rounds make a compaction due. */
const most = () => [userMessage('fix the login'), ...rounds(34, () => ({ output: lines(40) }))];
const more = (count = 2) => rounds(count, () => ({ output: lines(40) }));
const contextWindow = 9_400;
const usage = { inputTokens: 10, outputTokens: 5 };

interface Session {
  readonly scope: TestScope;
  readonly capability: ReturnType<typeof compaction>;
  /** A call of one step, which adds messages first. */
  readonly call: (added?: readonly Message[], overrides?: Partial<ReasonScope>) => Promise<void>;
}

let calls = 0;

function sessionOf(
  model: Model,
  config: CompactionCapabilityConfig = {},
  messages: readonly Message[] = most(),
): Session {
  const scope = scopeOf(messages, { model });
  const capability = compaction({ contextWindow, ...config } as CompactionCapabilityConfig);
  return {
    scope,
    capability,
    async call(added = [], overrides = {}) {
      for (const message of added) scope.state.contextMutable().push(message);
      await capability.aroundReason?.(
        { ...scope, callId: `call-${calls++}`, ...overrides },
        async () => answer,
      );
    },
  };
}

/** Calls until a narrative was begun. */
async function untilBegun(session: Session, model: { readonly requests: readonly unknown[] }): Promise<void> {
  for (let index = 0; index < 10 && model.requests.length === 0; index++) await session.call(more());
  expect(model.requests).toHaveLength(1);
  expect(compactions(session)).toEqual([]);
}

it('warns when the text of the model was not used, and names the rules as the author', async () => {
  const model = modelOf(() => said('No.', 'stop'));
  const session = sessionOf(model, { summary: { background: false } });
  for (let index = 0; index < 10 && compactions(session).length === 0; index++) await session.call(more());
  expect(compactions(session)).toMatchObject([{ status: 'applied', modelCalls: 2 }]);
  const { events } = session.scope;
  const made = events.findLast((event) => event.type === 'context.compacted');
  expect(made?.steps.at(-1)).toMatchObject({ stage: 'summarize', author: 'rules' });
  const warnings = events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  expect(warnings).toEqual([expect.stringContaining('because the text of the model could not be used: ')]);
});

/** Calls until a compaction was made. */
async function untilCompacted(session: Session): Promise<void> {
  const before = compactions(session).length;
  for (let index = 0; index < 40 && compactions(session).length === before; index++)
    await session.call(more());
  expect(compactions(session)).toHaveLength(before + 1);
}

const compactions = ({ scope }: Session) =>
  scope.events.flatMap((event) => (event.type === 'context.compacted' ? [event] : []));
const reported = ({ scope }: Session) =>
  scope.events.flatMap((event) => (event.type === 'usage.reported' ? [event.usage] : []));
const narrated = ({ scope }: Session) =>
  scope.events.flatMap((event) => (event.type === 'context.narrated' ? [event] : []));
const summaries = ({ scope }: Session) => scope.state.context.filter(({ kind }) => kind === 'summary');
const texts = ({ scope }: Session) => scope.state.context.map((message) => textOf(message)).join('\n');

/** A model whose answers come when the test says so. */
function controlled() {
  const waiting: ((response: ModelResponse) => void)[] = [];
  const model = modelOf(() => new Promise<ModelResponse>((resolve) => waiting.push(resolve)));
  return {
    model,
    async answer(text = GOOD_SUMMARY) {
      waiting.shift()?.(said(text));
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

describe('a narrative ahead of time', () => {
  it('is written before it is due, its cost is told at once, and the compaction leaves what one without it leaves', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model);
    await untilBegun(session, model);
    await vi.waitFor(() => expect(reported(session)).toEqual([usage]));
    await untilCompacted(session);
    expect(model.requests).toHaveLength(1);
    expect(reported(session)).toEqual([usage]);
    expect(compactions(session)).toMatchObject([{ status: 'applied', usage, modelCalls: 1 }]);
    expect(texts(session)).toContain('Read the code, found the cause.');
    assertPaired(session.scope.state.context);

    const alone = sessionOf(model, { summary: { background: false } });
    await untilCompacted(alone);
    const [ahead, now] = [session, alone].map((each) => compactions(each)[0]?.tokensAfter ?? 0);
    expect(ahead).toBeLessThanOrEqual((now ?? 0) * 1.02);
  });

  it('says up to which message it tells, and that what came later holds', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model);
    await untilBegun(session, model);
    const at = session.scope.state.context.length;
    await session.call(more(14));
    const text = textOf(summaries(session)[0] as Message);
    const [, told] =
      /It covers the messages up to r(\d+)\. If later messages say otherwise, they are right\./.exec(text) ??
      [];
    expect(Number(told)).toBeGreaterThan(at / 2);
    expect(Number(told)).toBeLessThanOrEqual(at);
    const later = text.slice(text.indexOf('## RECORD')).match(/^[*·] r\d+ /gm) ?? [];
    expect(later.some((line) => Number(line.match(/\d+/)) > Number(told))).toBe(true);
  });

  it('is asked for with the todo list as it is then', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model);
    const { tasksContext } = session.scope.state;
    for (let index = 0; index < 10 && model.requests.length === 0; index++) {
      tasksContext.todos.splice(0, Infinity, { content: `step ${index}`, status: 'in_progress' } as never);
      await session.call(more());
    }
    const [todo] = tasksContext.todos;
    expect(promptOf(model.requests[0]).match(/step \d+/g)).toEqual([todo?.content]);
  });

  it('is begun once for a trigger, late, and again after the compaction', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model);
    for (let round = 1; round <= 4; round++) {
      await untilCompacted(session);
      expect(model.requests).toHaveLength(round);
    }
    // The later requests hold what the earlier ones found, and only what is new besides.
    expect(promptOf(model.requests[3])).toContain('Read the code, found the cause.');
    expect(reported(session)).toEqual(Array(4).fill(usage));
  });

  it('is begun the later, the slower the conversation grows', async () => {
    const shareAtBegin = async (rows: number) => {
      const model = modelOf(() => GOOD_SUMMARY);
      const session = sessionOf(model, {}, most().slice(0, 41));
      let share = 0;
      while (model.requests.length === 0) {
        await session.call(rounds(1, () => ({ output: lines(rows) })));
        share = session.scope.state.context.length;
      }
      expect(compactions(session)).toEqual([]);
      const begun = JSON.stringify(session.scope.state.context).length;
      while (compactions(session).length === 0) {
        share = JSON.stringify(session.scope.state.context).length;
        await session.call(rounds(1, () => ({ output: lines(rows) })));
      }
      return begun / share;
    };
    const [slow, fast] = [await shareAtBegin(4), await shareAtBegin(80)];
    expect(slow).toBeGreaterThan(0.94);
    expect(fast).toBeLessThan(slow);
  });

  it('is not begun in the first short call of a process, but in a long one', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const serverless = sessionOf(model);
    for (let index = 0; index < 3; index++) await serverless.call(more(), { callId: `only` });
    expect(compactions(serverless)).toEqual([]);
    expect(model.requests).toEqual([]);

    const long = sessionOf(model, {}, [userMessage('fix it'), ...rounds(20, () => ({ output: lines(40) }))]);
    for (let index = 0; index < 30 && compactions(long).length === 0; index++) {
      await long.call(more(1), { callId: 'long' });
      if (model.requests.length === 1) break;
    }
    expect(compactions(long)).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });

  it('is waited for when it is under way, and used however the session was loaded since', async () => {
    const { model, answer: write } = controlled();
    const session = sessionOf(model);
    await untilBegun(session, model);
    const state = AgentState.fromJSON(JSON.parse(JSON.stringify(session.scope.state)));
    state.contextMutable().push(...more(12));
    const compacting = session.call([], { state });
    await write();
    await compacting;
    expect(model.requests).toHaveLength(1);
    expect(compactions(session)).toMatchObject([{ status: 'applied', modelCalls: 1 }]);
    expect(JSON.stringify(state.context)).toContain('Read the code, found the cause.');
  });

  it('is not used where what it tells of was taken out', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model);
    await untilBegun(session, model);
    session.scope.state.contextMutable()[0] = userMessage('fix the logout');
    await session.call(more(12));
    expect(model.requests).toHaveLength(2);
    expect(reported(session)).toEqual([usage, usage]);
    expect(JSON.stringify(session.scope.state.context[0])).toContain('fix the logout');
  });

  it('is used where pins came and went meanwhile', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model, {}, [...most(), userMessage('and the logout'), ...more(1)]);
    const { capability, scope } = session;
    const first = await capability.pin?.(scope, { text: 'Never push.' });
    await untilBegun(session, model);
    await capability.unpin?.(scope, first?.id ?? '');
    await session.call(more(1));
    await capability.pin?.(scope, { text: 'Always test.' });
    await untilCompacted(session);
    expect(model.requests).toHaveLength(1);
    expect(texts(session)).toContain('Read the code, found the cause.');
  });

  it('is begun again after an undo', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model);
    await untilCompacted(session);
    for (let index = 0; index < 30 && model.requests.length === 1; index++) await session.call(more());
    expect(await session.capability.undo?.(session.scope)).toBe(true);
    await untilCompacted(session);
    expect(compactions(session).at(-1)?.steps.at(-1)).toMatchObject({ author: 'model' });
  });

  it('is begun by another process, once the one that began it must have forgotten it', async () => {
    const first = sessionOf(modelOf(() => GOOD_SUMMARY));
    await untilBegun(first, first.scope.model as never);
    const now = vi.spyOn(systemClock, 'now');
    for (const [minutes, requests] of [
      [29, 0],
      [31, 1],
    ] as const) {
      now.mockReturnValue(Date.now() + minutes * 60_000);
      const model = modelOf(() => GOOD_SUMMARY);
      const second = sessionOf(model);
      second.scope.state.contextMutable().splice(0, Infinity, ...first.scope.state.context);
      Object.assign(second.scope.state.extensions, structuredClone(first.scope.state.extensions));
      await second.call(more(12));
      expect(compactions(second)).toHaveLength(1);
      expect(model.requests).toHaveLength(requests);
    }
    now.mockRestore();
  });

  it('is paid once where a hook asks to keep something, and again only where it asks for something else', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    let port = 1;
    const session = sessionOf(model, {
      beforeCompaction: () => ({ instructions: `Keep the port ${port}.` }),
    });
    for (const requests of [1, 2, 3]) {
      await untilCompacted(session);
      expect(model.requests).toHaveLength(requests);
      expect(promptOf(model.requests.at(-1))).toContain('Keep the port 1.');
    }
    port = 2;
    await untilCompacted(session);
    expect(model.requests).toHaveLength(5);
    expect(promptOf(model.requests.at(-1))).toContain('Keep the port 2.');
  });

  it('is written again where a user asks by hand for something to be kept', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model);
    await untilBegun(session, model);
    await session.capability.compact?.(session.scope, { instructions: 'Keep the port.' });
    expect(model.requests).toHaveLength(2);
    expect(promptOf(model.requests[1])).toContain('Keep the port.');
    expect(compactions(session)).toMatchObject([{ status: 'applied', modelCalls: 1 }]);
  });

  it('gives way to one at the trigger when the model failed ahead of time', async () => {
    const model = modelOf((_, index) => {
      if (index > 0) return GOOD_SUMMARY;
      throw new Error('no such model');
    });
    const session = sessionOf(model);
    await untilBegun(session, model);
    await untilCompacted(session);
    expect(texts(session)).toContain('Read the code, found the cause.');
  });

  it('is not begun where the stages before suffice, and is not lost to a call that is canceled', async () => {
    const { model, answer: write } = controlled();
    const stages = ['mask_outputs', 'summarize', 'drop_oldest'] as const;
    const masking = sessionOf(model, { stages: [...stages] });
    for (let index = 0; index < 12; index++) await masking.call(more());
    expect(compactions(masking).length).toBeGreaterThan(0);
    expect(model.requests).toEqual([]);

    const session = sessionOf(model);
    await untilBegun(session, model);
    const canceled = new AbortController();
    canceled.abort();
    // Counting the new messages may pause, and then ends with the call.
    await session.call(more(12), { signal: canceled.signal }).catch(() => {});
    expect(summaries(session)).toEqual([]);
    await write();
    await session.call(more(1));
    expect(model.requests).toHaveLength(1);
    expect(texts(session)).toContain('Read the code, found the cause.');
  });

  it('is not begun twice where two processes take turns: the other one records, and it is brought later', async () => {
    const models = [modelOf(() => GOOD_SUMMARY), modelOf(() => GOOD_SUMMARY)] as const;
    const first = sessionOf(models[0]);
    const second = sessionOf(models[1]);
    await first.call();
    await second.call(); // Both have seen a call before.
    const otherOf = (session: Session) => (session === first ? second : first);
    const turn = async (session: Session, count = 2) => {
      const other = otherOf(session);
      const { state } = session.scope;
      state
        .contextMutable()
        .splice(0, state.context.length, ...JSON.parse(JSON.stringify(other.scope.state.context)));
      Object.assign(state.extensions, structuredClone(other.scope.state.extensions));
      await session.call(more(count));
    };
    const asked = () => models.map(({ requests }) => requests.length).toSorted();
    let last = first;
    for (let index = 0; index < 20 && asked()[1] === 0; index++) {
      last = otherOf(last);
      await turn(last);
    }
    expect(asked()).toEqual([0, 1]);
    const other = otherOf(last);
    await turn(other, 12);
    expect(compactions(other)).toMatchObject([{ status: 'applied' }]);
    expect(texts(other)).not.toContain('found the cause');
    await turn(last, 1);
    expect(narrated(last)).toHaveLength(1);
    expect(texts(last)).toContain('found the cause');
    expect(asked()).toEqual([0, 1]);
  });

  it.each<[string, CompactionCapabilityConfig]>([
    ['without a model', { model: null }],
    ['where it is switched off', { summary: { background: false } }],
    ['where it is switched off beside a preset', { preset: 'everruns', background: false }],
  ])('is not begun %s', async (_, config) => {
    const model = modelOf(() => GOOD_SUMMARY);
    const session = sessionOf(model, config);
    for (let index = 0; index < 10 && compactions(session).length === 0; index++) {
      expect(model.requests).toEqual([]);
      await session.call(more());
    }
    expect(compactions(session)).toHaveLength(1);
  });
});

describe('a model that takes too long', () => {
  const late = { summary: { background: false, waitMs: 0 } };

  it('is not waited for: the record stands, and the narrative follows behind the conversation', async () => {
    const { model, answer: write } = controlled();
    const session = sessionOf(model, late);
    await session.call(more(12));
    expect(compactions(session)).toMatchObject([{ status: 'applied' }]);
    expect(compactions(session)[0]?.usage).toBeUndefined();
    expect(compactions(session)[0]?.message).toContain('summary.waitMs); the narrative follows later');
    expect(texts(session)).not.toContain('found the cause');
    expect(texts(session)).toContain('## RECORD');
    await write();
    expect(reported(session)).toEqual([usage]);

    const before = JSON.stringify(session.scope.state.context);
    await session.call([userMessage('and now?')]);
    // No byte of what was sent changes, and the new request stays the last word.
    expect(JSON.stringify(session.scope.state.context).startsWith(before.slice(0, -1))).toBe(true);
    expect(session.scope.state.context.slice(-2).map(({ kind }) => kind)).toEqual(['synthetic', undefined]);
    expect(textOf(session.scope.state.context.at(-2) as Message)).toMatch(/up to r\d+\. .*found the cause/s);
    expect(narrated(session)).toMatchObject([{ modelCalls: 1, usage }]);
  });

  it('tells what it wrote in the next summary, and is asked for the rest alone', async () => {
    const { model, answer: write } = controlled();
    const session = sessionOf(model, late);
    await session.call(more(12));
    await write(GOOD_SUMMARY.replace('Run the tests.', 'PORT 8443 IS OPEN'));
    for (let index = 0; index < 40 && compactions(session).length < 2; index++) await session.call(more());
    expect(model.requests).toHaveLength(2);
    expect(promptOf(model.requests[1])).toContain('PORT 8443 IS OPEN');
    expect(summaries(session)).toHaveLength(1);
    expect(textOf(summaries(session)[0] as Message)).toContain('PORT 8443 IS OPEN');
    expect(session.scope.state.context.filter(({ kind }) => kind === 'synthetic')).toEqual([]);
    await write();
    await session.call();
    // The narrative that came then stands for the one before.
    expect(narrated(session)).toHaveLength(2);
    assertPaired(session.scope.state.context);
  });

  it('is not asked again while it hangs, compaction after compaction', async () => {
    const { model } = controlled();
    const session = sessionOf(model, late);
    for (let index = 0; index < 3; index++) await untilCompacted(session);
    expect(compactions(session).map(({ status }) => status)).toEqual(Array(3).fill('applied'));
    expect(model.requests).toHaveLength(1);
    expect(texts(session)).toContain('fix the login');
  });

  it('brings its narrative also when the record was compacted again meanwhile', async () => {
    const { model, answer: write } = controlled();
    const session = sessionOf(model, late);
    for (let index = 0; index < 2; index++) await untilCompacted(session);
    await write();
    await session.call(more(1));
    expect(compactions(session)).toHaveLength(2);
    expect(narrated(session)).toHaveLength(1);
  });

  it.each([
    ['', []],
    [' and the request before it has no answer', [userMessage('and now?')]],
  ])('takes the narrative along when the compaction is undone%s', async (_, open) => {
    const { model, answer: write } = controlled();
    const session = sessionOf(model, late);
    const before = [...session.scope.state.context, ...more(12), ...open];
    session.scope.state.contextMutable().splice(0, before.length, ...before);
    await session.call();
    await write();
    const last = userMessage('go on');
    await session.call([last]);
    expect(narrated(session)).toHaveLength(1);
    expect(await session.capability.undo?.(session.scope)).toBe(true);
    expect(session.scope.state.context).toEqual([...before, last]);
  });

  it('is asked anew for a compaction with instructions of its own', async () => {
    const { model, answer: write } = controlled();
    const session = sessionOf(model, late);
    await session.call(more(12));
    expect(model.requests).toHaveLength(1);
    session.scope.state.contextMutable().push(...more(12));
    await session.capability.compact?.(session.scope, { instructions: 'KEEP THE PORTS' });
    expect(model.requests).toHaveLength(2);
    expect(promptOf(model.requests[1])).toContain('KEEP THE PORTS');
    await untilCompacted(session);
    expect(model.requests).toHaveLength(2);
    await write();
    await write(GOOD_SUMMARY.replace('Run the tests.', 'PORT 8443 IS OPEN'));
    await session.call([userMessage('and now?')]);
    expect(texts(session)).toContain('PORT 8443 IS OPEN');
  });

  it('keeps the history where no record may stand in, until the narrative is there', async () => {
    const { model, answer: write } = controlled();
    const session = sessionOf(model, { summary: { background: false, waitMs: 0, fallback: 'none' } });
    await untilCompacted(session);
    expect(compactions(session)).toMatchObject([{ status: 'failed' }]);
    await write();
    await session.call(more(3));
    expect(compactions(session).at(-1)).toMatchObject({ status: 'applied', modelCalls: 1 });
    expect(model.requests).toHaveLength(1);
  });

  it('waits no longer than the agent’s limit for a model', async () => {
    const { model } = controlled();
    const session = sessionOf(model, { summary: { background: false } });
    await session.call(more(12), { limits: { modelMs: 1 } });
    expect(compactions(session)).toMatchObject([{ status: 'applied' }]);
  });

  it.each([
    { preset: 'aura', waitMs: 0, background: false },
    { preset: 'everruns', strategy: 'summarization', waitMs: 0, background: false },
    { preset: 'agentscope', triggerTokens: 7_000, keepMessages: 4, waitMs: 0, background: false },
  ] as const)('is a setting of $preset', async (config) => {
    const { model } = controlled();
    const session = sessionOf(model, config);
    await session.call(more(20));
    expect(compactions(session)).toMatchObject([{ status: 'applied' }]);
    expect(model.requests).toHaveLength(1);
  });

  it('is ended with the agent, and with the user’s data', async () => {
    const aborted: string[] = [];
    const hanging = modelOf(
      ({ signal }) =>
        new Promise((_, reject) =>
          signal?.addEventListener('abort', () => {
            aborted.push('aborted');
            reject(signal.reason);
          }),
        ),
    );
    const state = AgentState.create({ sessionId: 's1', userId: 'ann' });
    state.contextMutable().push(...most(), ...more(12));
    const session = sessionOf(hanging, late);
    await session.call([], { state });
    await session.capability.erase?.({ userId: 'an' });
    await session.capability.erase?.({ userId: 'ann', tenantId: 'acme' });
    expect(aborted).toEqual([]);
    await session.capability.erase?.({ userId: 'ann' });
    expect(aborted).toEqual(['aborted']);
    await session.call(more(12));
    await session.capability.close?.();
    expect(aborted).toEqual(['aborted', 'aborted']);
  });
});

describe('a model that fails', () => {
  const warnings = ({ scope }: Session) =>
    scope.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
  const now = { summary: { background: false } };

  it('is left alone after two failures in a row, then asked again', async () => {
    let works = false;
    const model = modelOf(() => {
      if (works) return GOOD_SUMMARY;
      throw new Error('gone');
    });
    const session = sessionOf(model, now);
    for (let index = 0; index < 6; index++) await untilCompacted(session);
    expect(compactions(session).map(({ status }) => status)).toEqual(Array(6).fill('applied'));
    expect(model.requests).toHaveLength(2);
    expect(warnings(session)).toEqual([
      expect.stringContaining('failed too often to write a summary, counted over all sessions'),
    ]);
    works = true;
    await untilCompacted(session);
    expect(model.requests).toHaveLength(3);
    expect(texts(session)).toContain('found the cause');
    expect(texts(session)).toContain('fix the login');
  });

  it('is left alone in every session after one failure in each of two', async () => {
    const model = modelOf(() => {
      throw new Error('gone');
    });
    const sessions = [sessionOf(model, now), sessionOf(model, now), sessionOf(model, now)];
    for (const session of sessions) await untilCompacted(session);
    expect(model.requests).toHaveLength(2);
    expect(sessions.map((session) => warnings(session).length)).toEqual([0, 1, 0]);
  });

  it.each([
    ['refuses', 'I cannot help with that.'],
    ['babbles', 'well '.repeat(400)],
    ['says nothing', ' '],
  ])('loses nothing and is paid for twice when it %s', async (_, text) => {
    const model = modelOf(() => text);
    const session = sessionOf(model, now);
    await session.call(more(12));
    expect(compactions(session)).toMatchObject([{ status: 'applied', modelCalls: 2 }]);
    expect(model.requests).toHaveLength(2);
    expect(reported(session)).toHaveLength(2);
    expect(texts(session)).toContain('fix the login');
    expect(texts(session)).toContain('## RECORD');
  });
});

describe('a provider’s own compaction', () => {
  const sealed = { type: 'opaque' as const, provider: 'acme', data: { sealed: 'earlier part' } };
  const native = { stages: ['native', 'summarize'] } satisfies CompactionCapabilityConfig;
  const providerOf = (compact: () => Promise<{ content: (typeof sealed)[]; usage: typeof usage }>) => {
    const model = modelOf(() => GOOD_SUMMARY);
    let asked = 0;
    return Object.assign(model, {
      asked: () => asked,
      compact: () => {
        asked++;
        return compact();
      },
    });
  };

  it('is asked for ahead of time, once, and used when it is due', async () => {
    const model = providerOf(async () => ({ content: [sealed], usage }));
    const session = sessionOf(model, native);
    for (let index = 0; index < 20 && model.asked() === 0; index++) await session.call(more());
    expect(compactions(session)).toEqual([]);
    await vi.waitFor(() => expect(reported(session)).toEqual([usage]));
    await untilCompacted(session);
    expect(compactions(session)).toMatchObject([
      { status: 'applied', stagesUsed: 'native', usage, modelCalls: 1 },
    ]);
    expect(summaries(session)[0]?.content).toContainEqual(sealed);
    expect(model.asked()).toBe(1);
    expect(model.requests).toEqual([]);
    assertPaired(session.scope.state.context);
  });

  it('is not used for another model, which could not read it', async () => {
    const [first, second] = [sealed, { ...sealed, data: { sealed: 'by the second' } }].map((block) =>
      Object.assign(
        providerOf(async () => ({ content: [block], usage })),
        { id: JSON.stringify(block.data) },
      ),
    );
    const session = sessionOf(first as Model, native);
    for (let index = 0; index < 20 && first?.asked() === 0; index++) await session.call(more());
    for (let index = 0; index < 20 && compactions(session).length === 0; index++)
      await session.call(more(), { model: second as Model });
    expect(summaries(session)[0]?.metadata?.modelId).toBe(second?.id);
    expect(JSON.stringify(summaries(session)[0]?.content)).toContain('by the second');
  });

  it('is left alone after a failure, then asked again', async () => {
    let works = false;
    const model = providerOf(async () => {
      if (!works) throw new Error('gone');
      return { content: [sealed], usage };
    });
    const session = sessionOf(model, { ...native, summary: { background: false } });
    for (let index = 0; index < 5; index++) await untilCompacted(session);
    expect(compactions(session).map(({ stagesUsed }) => stagesUsed)).toEqual(Array(5).fill('summarize'));
    expect(model.asked()).toBe(1);
    works = true;
    await untilCompacted(session);
    expect(model.asked()).toBe(2);
    expect(summaries(session)[0]?.content).toContainEqual(sealed);
  });

  it('is not waited for when it hangs, nor asked again for a while; what came late is told and not used', async () => {
    let finish: () => void = () => {};
    const model = providerOf(
      () => new Promise((resolve) => (finish = () => resolve({ content: [sealed], usage }))),
    );
    const session = sessionOf(model, { ...native, summary: { background: false, waitMs: 0 } });
    await untilCompacted(session);
    expect(compactions(session)).toMatchObject([{ status: 'applied', stagesUsed: 'summarize' }]);
    expect(model.requests).toEqual([]);
    finish();
    await vi.waitFor(() => expect(reported(session)).toEqual([usage]));
    await untilCompacted(session);
    expect(model.asked()).toBe(1);
    expect(JSON.stringify(session.scope.state.context)).not.toContain('sealed');
    expect(texts(session)).toContain('fix the login');
  });
});

describe('createCompactor', () => {
  it('puts a narrative that came late into the next summary of the conversation', async () => {
    const { model, answer: write } = controlled();
    const compactor = createCompactor({ model, contextWindow, summary: { waitMs: 0 } });
    const options = { reason: 'proactive_budget' } as const;
    const one = await compactor.compact([...most(), ...more(12)], options);
    await vi.waitFor(() => expect(model.requests).toHaveLength(1));
    const other = await compactor.compact([...most(), ...more(12)], options);
    await vi.waitFor(() => expect(model.requests).toHaveLength(2));
    expect([one, other]).toMatchObject([{ status: 'applied' }, { status: 'applied' }]);
    expect([one.usage, other.usage]).toEqual([undefined, undefined]);
    await write(GOOD_SUMMARY.replace('Run the tests.', 'PORT 8443 IS OPEN'));
    await write(GOOD_SUMMARY.replace('Run the tests.', 'PORT 80 IS OPEN'));
    const next = compactor.compact([...one.messages, ...more(34)], options);
    await vi.waitFor(() => expect(model.requests).toHaveLength(3));
    expect(promptOf(model.requests[2])).toContain('PORT 8443 IS OPEN');
    expect(promptOf(model.requests[2])).not.toContain('PORT 80 IS OPEN');
    expect(JSON.stringify((await next).messages)).toContain('PORT 8443 IS OPEN');
    expect(await next).toMatchObject({ usage, modelCalls: 1 });
    await write();
    const last = await compactor.compact([...(await next).messages, ...more(34)], options);
    expect(last).toMatchObject({ status: 'applied', usage, modelCalls: 1 });
  });

  it('ends the model call of a caller that gives up', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const model = modelOf(({ signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    });
    const compactor = createCompactor({ model, contextWindow });
    const caller = new AbortController();
    const outcome = compactor.compact([...most(), ...more(12)], { signal: caller.signal });
    await vi.waitFor(() => expect(signals).toHaveLength(1));
    caller.abort();
    expect(await outcome).toMatchObject({ status: 'aborted' });
    expect(signals[0]?.aborted).toBe(true);
  });
});
