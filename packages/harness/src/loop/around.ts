/**
 * Composes hooks around `core`, the first outermost. A hook may call `next` more than once: a retry runs everything
 * within it again.
 */
export function onion<Argument, Result>(
  hooks: readonly ((argument: Argument, next: (argument: Argument) => Promise<Result>) => Promise<Result>)[],
  core: (argument: Argument) => Promise<Result>,
): (argument: Argument) => Promise<Result> {
  return hooks.reduceRight<(argument: Argument) => Promise<Result>>(
    (next, hook) => (argument) => hook(argument, next),
    core,
  );
}
