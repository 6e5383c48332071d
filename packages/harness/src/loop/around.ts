import type { Capability } from '@x/core';

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
 * once: a retry runs everything within it again.
 */
export function around<Name extends AroundHook>(
  capabilities: readonly Capability[],
  hook: Name,
  scope: ScopeOf<Name>,
  core: NextOf<Name>,
): NextOf<Name> {
  const takesArgument = hook === 'aroundModel' || hook === 'aroundTool';
  return capabilities.reduceRight<Layer>((next, capability) => {
    const layer = (capability[hook] as Layer | undefined)?.bind(capability);
    if (layer === undefined) return next;
    return takesArgument ? (argument) => layer(argument, scope, next) : () => layer(scope, () => next());
  }, core as Layer) as NextOf<Name>;
}
