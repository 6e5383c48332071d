import { InvalidInputError, type Issue, toSnakeCase } from '@x/core';

/** Keys of other systems that mean one of ours. */
const ALIASES: Readonly<Record<string, string>> = {
  steps: 'max_iterations',
  max_iters: 'max_iterations',
  maxIters: 'max_iterations',
  max_turns: 'max_iterations',
  maxTurns: 'max_iterations',
  hide: 'hidden',
};

/** A key of other systems that looks like a misspelt `model`. */
const FOREIGN = 'mode';
const MODES: readonly unknown[] = [undefined, null, 'subagent', 'all', 'primary'];

/** Keys of other systems that limit nothing, in either spelling. Left out, any other word could leave a subagent more than its author meant. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['workspace', 'top_p', 'top_k', 'seed', 'hidden', 'expose_to_user', 'enable_pending_tool_recovery'],
  ...['id', 'title', 'display_name', 'color', 'icon', 'version', 'author', 'license', 'homepage', 'category'],
  ...['tags', 'keywords', 'examples', 'metadata', 'argument_hint', 'argument-hint'],
]);

const FROM_PARENT = 'unknown key here; a subagent has those of its parent';

/** Keys of an agent that a subagent does not take: why, and where they go. */
const NOT_FOR_SUBAGENTS: Readonly<Record<string, string>> = {
  features: `${FROM_PARENT}: write it in the file of the agent`,
  capabilities: `${FROM_PARENT}: write it in the file of the agent`,
  mcp_servers: `${FROM_PARENT}: write it in the file of the agent`,
  permissions: `${FROM_PARENT}: write deny to take more away`,
  fallback: `${FROM_PARENT}, which take over for it: write it in the file of the agent`,
  checkpoint: `${FROM_PARENT}: in code, subagents(…, { settings }) sets it`,
  session: `${FROM_PARENT}: write it in the file of the agent`,
  isolation: `${FROM_PARENT}: write it in the file of the agent`,
};

/** Keys of a subagent that an agent of its own file does not take: where they go. */
const NOT_FOR_AGENTS: Readonly<Record<string, string>> = {
  deny: 'unknown key here; write permissions: { deny: […] }',
  tools: 'unknown key here; capabilities bring tools: take some away with permissions: { deny: […] }',
};

/** Says of refused keys that the other kind of agent takes why, and where to write them. */
export function withReasons<Result>(kind: 'agent' | 'subagent', run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    const reasons = kind === 'agent' ? NOT_FOR_AGENTS : NOT_FOR_SUBAGENTS;
    const issues = error.issues.map(({ path, message }) => {
      const key = path.replace(/^definitions\[\d+\]\./, '');
      const isOther = message.startsWith('unknown key') && Object.hasOwn(reasons, key);
      return { path, message: isOther ? (reasons[key] ?? message) : message };
    });
    throw issues.some(({ message }, index) => message !== error.issues[index]?.message)
      ? new InvalidInputError(error.subject, issues, { cause: error })
      : error;
  }
}

/**
 * Renames the keys of other systems that mean one of ours, and leaves out those that nothing takes and that do no harm.
 *
 * @param file Names the file in errors.
 * @param parse Refuses unknown keys, as the reader of the result does.
 * @throws {InvalidInputError} for two keys that mean the same: neither order nor luck may say which of them holds.
 */
export function withoutForeignKeys(
  data: Readonly<Record<string, unknown>>,
  file: string,
  parse: (given: Readonly<Record<string, unknown>>) => unknown,
): { readonly known: Readonly<Record<string, unknown>>; readonly ignored: readonly string[] } {
  const { [FOREIGN]: foreign, ...ours } = data;
  const keys = Object.keys(ours).map((key) => ({ path: key, name: ALIASES[key] ?? key }));
  const twice = keys.filter(({ name }, index) => keys.findIndex((key) => key.name === name) < index);
  if (twice.length > 0) {
    const issues = twice.map(({ path, name }) => ({
      path,
      message: `means ${name}, which is given already`,
    }));
    throw new InvalidInputError(file, issues);
  }
  const given = Object.fromEntries(keys.map(({ path, name }) => [name, ours[path]]));
  const ignored = foreign === undefined ? [] : [FOREIGN];
  for (;;) {
    const known = Object.fromEntries(Object.entries(given).filter(([key]) => !ignored.includes(key)));
    const harmless = harmlessIn(known, parse);
    if (harmless.length === 0) return { known, ignored };
    ignored.push(...harmless);
  }
}

/**
 * Does the same for a subagent, whom `mode: primary` keeps from the model, as `hidden` does. Answers each thing to tell with
 * its key ahead of it.
 *
 * @throws {InvalidInputError} also for a mode that is not known: it may limit.
 */
export function withoutForeignSubagentKeys(
  data: Readonly<Record<string, unknown>>,
  file: string,
  parse: (given: Readonly<Record<string, unknown>>) => unknown,
): { readonly known: Readonly<Record<string, unknown>>; readonly told: readonly string[] } {
  const { mode, ...rest } = data;
  if (!MODES.includes(mode)) {
    throw new InvalidInputError(file, [{ path: FOREIGN, message: 'must be subagent, all or primary' }]);
  }
  const isPrimary = mode === 'primary';
  const { known, ignored } = withoutForeignKeys(isPrimary ? { ...rest, hidden: true } : data, file, parse);
  const kept = known.hidden === true ? [`${isPrimary ? FOREIGN : 'hidden'}: the model cannot spawn it`] : [];
  return { known, told: [...ignored.map((key) => `${key}: unknown key, which does nothing`), ...kept] };
}

/** Finds keys that are refused and limit nothing: those in camelCase first, since a reader of files refuses them first. */
function harmlessIn(
  given: Readonly<Record<string, unknown>>,
  parse: (given: Readonly<Record<string, unknown>>) => unknown,
): readonly string[] {
  try {
    parse(given);
    return [];
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    return error.issues
      .filter(isHarmless)
      .map(({ path }) => path)
      .filter((key) => Object.hasOwn(given, key));
  }
}

function isHarmless({ path, message }: Issue): boolean {
  return /^unknown key(?:; files write \w+)?$/.test(message) && HARMLESS.has(toSnakeCase(path));
}
