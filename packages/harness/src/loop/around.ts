import type { Capability, ModelResponse } from '@x/core';
import { answerFault, Deadline } from '@x/core/internal';
import { admitMessages } from '@x/core/messages';
import type { ParsedLimits } from '../agent/limits.js';
import { errorOf, hookInvalid } from '../errors/harness-error.js';

type AroundHook = 'aroundCall' | 'aroundReason' | 'aroundModel' | 'aroundTool';
type Hook<Name extends AroundHook> = NonNullable<Capability[Name]>;

type ScopeOf<Name extends AroundHook> =
  Parameters<Hook<Name>> extends [...unknown[], infer Scope, unknown] ? Scope : never;

/** The `next` of a hook, with the same first argument as the hook, if it has one. */
type NextOf<Name extends AroundHook> =
  Parameters<Hook<Name>> extends [...unknown[], infer Next] ? Next : never;

type Layer = (...values: unknown[]) => Promise<unknown>;

/**
 * Composes one hook of all capabilities around `core`, the first capability outermost. A hook may call `next` more than
 * once: a retry runs everything within it again. Only the hook's own time counts against its limit.
 *
 * @throws {HarnessError} `hook_invalid` if a hook around a call does not call `next`, or one around a request returns an invalid answer.
 * @throws {TimeLimitError} if a hook takes too long; the signal's reason if it does not end soon after the signal.
 */
export function around<Name extends AroundHook>(
  capabilities: readonly Capability[],
  hook: Name,
  scope: ScopeOf<Name>,
  core: NextOf<Name>,
  limits: ParsedLimits,
): NextOf<Name> {
  const takesArgument = hook === 'aroundModel' || hook === 'aroundTool';
  return capabilities.reduceRight<Layer>((next, capability) => {
    const layer = (capability[hook] as Layer | undefined)?.bind(capability);
    if (layer === undefined) return next;
    const waiting = { name: `${hook} of "${capability.name}"`, signal: (scope as Waiting).signal, limits };
    return async (argument) => {
      let inside: Promise<unknown> | undefined;
      let given: unknown;
      let hasFailed = false;
      const answer = await withinHookLimit(waiting, (pause) => {
        const inner: Layer = (changed) => {
          // A call that succeeded is not run twice. Only a failed call is retried.
          if (hook === 'aroundCall' && inside !== undefined && !hasFailed) return inside;
          inside = pause(async () => {
            given = await next(changed);
            return given;
          });
          // If the hook no longer awaits `inside`, for example after its own timeout, a rejection must not crash the process.
          inside.catch(() => {
            hasFailed = true;
          });
          return inside;
        };
        return takesArgument ? layer(argument, scope, inner) : layer(scope, () => inner());
      });
      if (hook === 'aroundCall') {
        if (inside === undefined)
          throw hookInvalid(waiting.name, answer, 'call next(), or throw a StopCallError');
        // The call itself decides on success or failure, whatever a hook returns or catches.
        return inside;
      }
      // The hook may have changed the response in place.
      const isGiven = given !== undefined && answer === given && answerFault(answer) === undefined;
      return hook === 'aroundTool' || isGiven ? answer : admittedAnswer(waiting.name, answer);
    };
  }, core as Layer) as NextOf<Name>;
}

/** Validates an answer that a hook made itself. Answers of models are already validated. */
function admittedAnswer(name: string, answer: unknown): ModelResponse {
  if (answerFault(answer) !== undefined) {
    const wanted =
      "return the result of next(), or { content: [{ type: 'text', text }], finishReason: 'stop' }";
    throw hookInvalid(name, answer, wanted);
  }
  const { content, ...rest } = answer as ModelResponse;
  const [message] = admitMessages(
    [{ id: 'answer', role: 'assistant', content, createdAt: '' }],
    `answer of ${name}`,
  );
  return { ...rest, content: message?.content ?? [] };
}

interface Waiting {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly limits: Pick<ParsedLimits, 'hookMs' | 'interruptMs'>;
}

/** Runs a hook. Returns a synchronous result directly: only a promise needs a limit, and a step has many hooks. */
export function hookResult<Value>(
  waiting: Waiting,
  run: () => Value | PromiseLike<Value>,
): Value | PromiseLike<Value> {
  let value: Value | PromiseLike<Value>;
  try {
    value = run();
  } catch (error) {
    throw errorOf(`The hook ${waiting.name}`, error);
  }
  const isPromise = typeof (value as PromiseLike<Value> | undefined)?.then === 'function';
  return isPromise ? withinHookLimit(waiting, () => value as PromiseLike<Value>) : value;
}

/**
 * Awaits a hook within its limit. After an abort, the hook has a short time to clean up.
 *
 * @param run Runs the hook; `pause` stops the clock while something runs that has its own limits.
 */
async function withinHookLimit<Value>(
  { name, signal, limits }: Waiting,
  run: (pause: <Inner>(work: () => Promise<Inner>) => Promise<Inner>) => PromiseLike<Value>,
): Promise<Value> {
  const deadline = new Deadline(signal);
  const start = () => deadline.start(`The hook ${name}`, 'limits.hookMs', limits.hookMs);
  let enclosed = 0;
  try {
    start();
    const work = run(async (work) => {
      enclosed++;
      deadline.pause('limits.hookMs');
      try {
        return await work();
      } finally {
        if (--enclosed === 0 && !signal.aborted) start();
      }
    });
    return await deadline.race(work, limits.interruptMs || Number.POSITIVE_INFINITY);
  } catch (error) {
    throw errorOf(`The hook ${name}`, error);
  } finally {
    deadline.stop();
  }
}
