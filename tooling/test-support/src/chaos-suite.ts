import { setImmediate as nextTask } from 'node:timers/promises';
import {
  AgentState,
  defineTool,
  InMemorySession,
  type Model,
  RuntimeContext,
  type SessionStore,
  type StopReason,
  type Tool,
  textOf,
} from '@x/core';
import { pairingOf } from '@x/core/messages';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import type { ChaosModel } from './chaos-models.js';

/** The parts of an agent, for one model and one way to call it. */
export interface ChaosParts {
  readonly model: Model;
  /** The fallback models, in order. */
  readonly fallback: readonly Model[];
  readonly tools: readonly Tool[];
  readonly session: SessionStore;
  /** Plain settings: `maxRetries`, `checkpoint`, `maxIterations` and so on. */
  readonly settings: Readonly<Record<string, string | number>>;
  /** Time limits in milliseconds, by their names in `limits`; 0 for no limit. */
  readonly limits: Readonly<Record<string, number>>;
  /** The token budget of a call. Omitted for no budget. */
  readonly maxTokensPerCall?: number | undefined;
}

interface Outcome {
  readonly text: string;
  readonly stopReason: StopReason;
}

/** The methods of an agent that the suite calls. `HarnessAgent` of `@x/harness` has them. */
export interface ChaosAgent {
  call(input: string, context: RuntimeContext, options: { signal: AbortSignal }): Promise<Outcome>;
  stream(
    input: string,
    context: RuntimeContext,
    options: { signal: AbortSignal },
  ): { readonly reply: Promise<Outcome> };
  state(context: RuntimeContext): Promise<AgentState | undefined>;
  close(options?: { readonly drainMs: number }): Promise<void>;
}

export interface ChaosSuiteOptions {
  readonly name: string;
  /** `chaosModels`, or `brokenServers` with your own model. */
  readonly models: readonly ChaosModel[];
  build(parts: ChaosParts): ChaosAgent;
}

/** One way to call an agent. */
interface Way {
  readonly streaming?: boolean;
  readonly fallback?: boolean;
  readonly settings?: ChaosParts['settings'];
  readonly maxTokensPerCall?: number;
  /** Names of the limits that end a stalled model. Default `modelMs`. */
  readonly limits?: readonly string[];
  /** The stop reason of a call whose first answer calls a tool. */
  readonly afterCalls?: StopReason;
  /** Interrupts or closes the agent during the model call. Also the stop reason of every call. */
  readonly at?: 'interrupted' | 'shutdown';
}

const WAYS: Readonly<Record<string, Way>> = {
  'as it is': {},
  'in a stream, with a limit for each part': { streaming: true, limits: ['modelFirstByteMs', 'modelIdleMs'] },
  'in a stream, with a limit for each request': { streaming: true },
  'with a limit for the call, and a checkpoint each step': {
    streaming: true,
    limits: ['callMs'],
    settings: { checkpoint: 'step' },
  },
  'again after a failure, and on where it was cut': { settings: { maxRetries: 1, continueTruncated: 1 } },
  'with a model that takes over': { fallback: true },
  'in a stream, with a model that takes over': {
    fallback: true,
    streaming: true,
    settings: { maxRetries: 1 },
  },
  'in one step, a tool at a time, stored at its end': {
    settings: { maxIterations: 1, maxParallelTools: 1, checkpoint: 'call' },
    afterCalls: 'max_iterations',
  },
  'with a budget of a token': { maxTokensPerCall: 1, afterCalls: 'budget_exceeded' },
  'until it is interrupted': { at: 'interrupted' },
  'in a stream, until it is interrupted': { at: 'interrupted', streaming: true },
  'until the agent is closed': { at: 'shutdown', streaming: true },
};

/** Limits in milliseconds: short for models that stall, and longer than every test for all others. */
const [SHORT, LONG] = [20, 120_000];

/**
 * Registers Vitest tests of each model with each way to call an agent, that is, with every option that changes how a model's misbehavior is
 * handled. Each call must end with its documented stop reason, and leave a session that can be opened, with all messages of the user and a
 * result for each tool call.
 *
 * @example
 * ```ts
 * chaosSuite({ name: 'mine', models: brokenServers((url) => new MyModel({ baseUrl: url })), build });
 * ```
 */
export function chaosSuite({ name, models, build }: ChaosSuiteOptions): void {
  const context = RuntimeContext.of({ sessionId: 's' });
  const act = defineTool({
    name: 'act',
    description: 'Acts',
    input: { type: 'object' },
    execute: () => 'done',
  });
  for (const [how, way] of Object.entries(WAYS)) {
    describe(`${name}: a call ${how}`, () => {
      it.each(models)('of a model that $ends: $name', async (chaos) => {
        const { streaming, fallback, settings, maxTokensPerCall, limits = ['modelMs'], at } = way;
        const session = new InMemorySession();
        const stop = new AbortController();
        let closing: Promise<void> | undefined;
        const asked = async () => {
          if (at === 'interrupted') stop.abort();
          if (at === 'shutdown') closing ??= agent.close({ drainMs: 0 });
          if (at) await nextTask();
        };
        const ms = chaos.ends === 'stalls' && at === undefined ? SHORT : LONG;
        const agent = build({
          model: announced(chaos.open(), asked),
          fallback: fallback ? [new ScriptedModel([{ text: 'here' }])] : [],
          tools: [act],
          session,
          settings: { maxRetries: 0, retryDelayMs: 0, ...settings },
          limits: {
            ...{
              modelFirstByteMs: LONG,
              modelIdleMs: LONG,
              modelMs: LONG,
              callMs: LONG,
              retryAfterMs: SHORT,
            },
            ...Object.fromEntries(limits.map((limit) => [limit, ms])),
          },
          maxTokensPerCall,
        });
        const options = { signal: stop.signal };
        const call = streaming
          ? agent.stream('Hi', context, options).reply
          : agent.call('Hi', context, options);
        const [outcome] = await Promise.allSettled([call]);
        await closing;
        const reason = reasonOf(chaos, way);
        if (reason !== 'settles') {
          const { status, ...rest } = outcome;
          const told = 'value' in rest ? rest.value.stopReason : 'fails';
          expect([status, told]).toEqual([reason === 'fails' ? 'rejected' : 'fulfilled', reason]);
        }

        const parts = { fallback: [], tools: [act], session, settings: {}, limits: {} };
        const next = build({ ...parts, model: new ScriptedModel([{ text: 'on' }]) });
        expect((await next.call('Go on', context, { signal: new AbortController().signal })).text).toBe('on');
        const state = await next.state(context);
        const messages = AgentState.fromJSON(JSON.parse(JSON.stringify(state))).context;
        expect(messages.filter(({ role, kind }) => role === 'user' && !kind).map(textOf)).toEqual([
          'Hi',
          'Go on',
        ]);
        const { orphanCalls, orphanResults, open } = pairingOf(messages);
        expect([orphanCalls.size, orphanResults.size, open.size]).toEqual([0, 0, 0]);
        await Promise.all([agent.close(), next.close()]);
      });
    });
  }
}

function reasonOf(
  { ends, calls, refuses, stopReason = 'completed' }: ChaosModel,
  { at, fallback, afterCalls }: Way,
): StopReason | 'fails' | 'settles' {
  if (at) return at;
  if (ends === 'answers') return calls ? (afterCalls ?? stopReason) : stopReason;
  if (ends === 'settles') return ends;
  if (fallback && !refuses) return 'completed';
  return ends === 'stalls' ? 'timed_out' : ends;
}

/** Wraps a model so that it calls `asked` before each request. */
function announced(model: Model, asked: () => Promise<void>): Model {
  return {
    ...model,
    async generate(request) {
      await asked();
      return model.generate(request);
    },
    ...(model.stream && {
      async *stream(request) {
        await asked();
        yield* model.stream?.(request) ?? [];
      },
    }),
  };
}
