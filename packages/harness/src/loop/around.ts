import { type Capability, Deadline } from '@x/core';
import type { ParsedLimits } from '../agent/limits.js';

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
 * once: a retry runs everything within it again. Its own time, without what it encloses, is limited.
 *
 * @throws {TimeLimitError} when a hook takes too long; the signal's reason when it does not end soon after the signal.
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
    return (argument) =>
      withinHookLimit(waiting, (pause) => {
        const inner: Layer = (given) => pause(() => next(given));
        return takesArgument ? layer(argument, scope, inner) : layer(scope, () => inner());
      });
  }, core as Layer) as NextOf<Name>;
}

interface Waiting {
  readonly name: string;
  readonly signal: AbortSignal;
  readonly limits: Pick<ParsedLimits, 'hookMs' | 'interruptMs'>;
}

/** Answers what a hook gives at once as it is: only a promise needs a limit, and a step has many hooks. */
export function hookResult<Value>(
  waiting: Waiting,
  run: () => Value | PromiseLike<Value>,
): Value | PromiseLike<Value> {
  const value = run();
  const isPromise = typeof (value as PromiseLike<Value> | undefined)?.then === 'function';
  return isPromise ? withinHookLimit(waiting, () => value as PromiseLike<Value>) : value;
}

/**
 * Awaits a hook within its limit. After the signal it has a moment to put things in order.
 *
 * @param run Runs the hook; `pause` stops the clock while something runs that has limits of its own.
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
  } finally {
    deadline.stop();
  }
}
