import type { AgentComposition, CallScope, Capability } from '@x/core';
import { type Issue, nearNames } from '@x/core/internal';
import { HarnessConfigError } from '../errors/harness-config-error.js';
import { matchWildcard } from '../lib/wildcard.js';

/** A place in a configuration that speaks of tools. */
export interface ToolReference {
  readonly path: string;
  /** A name, in which `*` and `?` may stand for characters. */
  readonly tool: string;
  /** Ignores upper and lower case. Default false. */
  readonly anyCase?: boolean | undefined;
}

interface Unknown extends ToolReference {
  readonly near: readonly string[];
}

/**
 * Finds tool names in a capability's configuration that no part of the agent brings. A rule for such a name would do nothing,
 * unnoticed. A name close to that of a tool is taken for a typing error, and refuses the build. Any other name is a warning
 * in the agent's first call: MCP servers and subagents may still bring the tool. A pattern is only warned of when a tool's
 * name comes close to it.
 */
export class ToolReferences {
  readonly #source: string;
  readonly #references: readonly ToolReference[];
  readonly #at: string;
  /** Agents whose first call is still to come, by name: one capability may be part of several. */
  readonly #unused = new Map<string, AgentComposition>();

  /**
   * @param source The capability's name.
   * @param at The beginning of the paths in errors.
   */
  constructor(source: string, references: readonly ToolReference[], at = `${source}.`) {
    this.#source = source;
    this.#references = references;
    this.#at = at;
  }

  /** What a capability with such names does: it refuses slips when it is installed, and warns of unknown names in the first call. */
  get hooks(): Pick<Required<Capability>, 'install' | 'aroundCall'> {
    return {
      install: (agent) => this.#install(agent),
      aroundCall: (scope, next) => {
        this.#warn(scope);
        return next();
      },
    };
  }

  /** @throws {HarnessConfigError} for every name that is close to that of a tool. */
  #install(agent: AgentComposition): void {
    if (!agent.capabilities.some(mayBringMore)) {
      const slips = this.#unknown(agent).filter(({ tool, near }) => !isPattern(tool) && near.length > 0);
      const issues = slips.map(
        ({ path, tool, near }): Issue => ({
          path: `${this.#at}${path}`,
          message: describeUnknown(tool, near),
        }),
      );
      if (issues.length > 0) throw new HarnessConfigError(issues);
    }
    this.#unused.set(agent.name, agent);
  }

  #warn(scope: CallScope): void {
    const agent = this.#unused.get(scope.agentId);
    if (agent === undefined) return;
    this.#unused.delete(scope.agentId);
    for (const { path, tool, near } of this.#unknown(agent)) {
      const message = `${path}: ${describeUnknown(tool, near)} Until there is one, this has no effect.`;
      scope.emit({ type: 'warning', source: this.#source, message });
    }
  }

  #unknown({ tools, capabilities }: AgentComposition): readonly Unknown[] {
    const names = toolNamesOf({ tools, capabilities });
    return this.#references
      .filter((reference) => !names.some((name) => fits(reference, name)))
      .map((reference) => ({ ...reference, near: nearTools(reference.tool, names) }))
      .filter(({ tool, near }) => !isPattern(tool) || near.length > 0);
  }
}

/** Lists the names of an agent's tools by now: those of capabilities may have grown since it was built. */
function toolNamesOf({
  tools,
  capabilities,
}: Pick<AgentComposition, 'tools' | 'capabilities'>): readonly string[] {
  const all = [...tools, ...capabilities.flatMap((capability) => capability.tools ?? [])];
  return [...new Set(all.map(({ definition }) => definition.name))];
}

/** Words, for each of these names that no tool of an agent has, what is wrong with it. Patterns and foreign notations may fit later. */
export function unknownTools(
  names: readonly string[],
  agent: Pick<AgentComposition, 'tools' | 'capabilities'>,
): readonly string[] {
  const known = toolNamesOf(agent);
  const unknown = names.filter((name) => /^[\w.:-]+$/.test(name) && !known.includes(name));
  return unknown.map((name) => describeUnknown(name, nearTools(name, known)));
}

function fits({ tool, anyCase }: ToolReference, name: string): boolean {
  return anyCase ? matchWildcard(tool.toLowerCase(), name.toLowerCase()) : matchWildcard(tool, name);
}

function isPattern(tool: string): boolean {
  return /[*?]/.test(tool);
}

/** Words the message for a name that no tool has, with the names that come close. */
function describeUnknown(tool: string, near: readonly string[]): string {
  const what = isPattern(tool) ? `no tool's name fits "${tool}"` : `no tool is named "${tool}"`;
  return `${what}; ${near.length === 0 ? 'none is similar.' : `did you mean ${near.join(' or ')}?`}`;
}

/** A list that a getter gives may grow. */
function mayBringMore(capability: Capability): boolean {
  for (let owner: object | null = capability; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const property = Object.getOwnPropertyDescriptor(owner, 'tools');
    if (property !== undefined) return property.get !== undefined;
  }
  return false;
}

const WILDCARD = /[*?\\]/;

/**
 * The names of tools that `name` may have been meant for: at most 3, the nearest first. Of a pattern only what stands before
 * its first wildcard is compared, with how names begin.
 */
function nearTools(name: string, known: Iterable<string>): readonly string[] {
  const end = name.search(WILDCARD);
  return nearNames(end < 0 ? name : name.slice(0, end), known, end >= 0).slice(0, 3);
}
