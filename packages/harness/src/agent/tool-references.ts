import type { AgentComposition, CallScope, Capability } from '@x/core';
import { type Issue, nearNames } from '@x/core/internal';
import { HarnessConfigError } from '../errors/harness-config-error.js';
import { matchWildcard } from '../lib/wildcard.js';

/** A mention of a tool in a configuration. */
export interface ToolReference {
  readonly path: string;
  /** A tool name, or a pattern with `*` and `?`. */
  readonly tool: string;
  /** Ignores upper and lower case. Default false. */
  readonly anyCase?: boolean | undefined;
}

interface Unknown extends ToolReference {
  readonly near: readonly string[];
}

/**
 * Finds tool names in a capability's configuration that no part of the agent provides, because such a rule would silently do nothing. If a
 * name is close to a tool's name, it is treated as a typo, and the build fails. Any other name is a warning in the agent's first call: MCP
 * servers and subagents may still provide the tool. A pattern only causes a warning if a tool's name is close to it.
 */
export class ToolReferences {
  readonly #source: string;
  readonly #references: readonly ToolReference[];
  readonly #at: string;
  /** Agents whose first call is still to come, by name. Several agents can share a capability. */
  readonly #unused = new Map<string, AgentComposition>();

  /**
   * @param source The capability's name.
   * @param at The prefix of the paths in errors.
   */
  constructor(source: string, references: readonly ToolReference[], at = `${source}.`) {
    this.#source = source;
    this.#references = references;
    this.#at = at;
  }

  /**
   * The hooks of a capability whose configuration names tools. `install` rejects typos, and `aroundCall` warns about unknown names in the
   * first call.
   */
  get hooks(): Pick<Required<Capability>, 'install' | 'aroundCall'> {
    return {
      install: (agent) => this.#install(agent),
      aroundCall: (scope, next) => {
        this.#warn(scope);
        return next();
      },
    };
  }

  /** @throws {HarnessConfigError} for every name that is close to a tool's name. */
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
      const message = `${path}: ${describeUnknown(tool, near)} Until such a tool exists, this entry has no effect.`;
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

/** Lists the names of an agent's current tools. Capabilities may have added some since the build. */
function toolNamesOf({
  tools,
  capabilities,
}: Pick<AgentComposition, 'tools' | 'capabilities'>): readonly string[] {
  const all = [...tools, ...capabilities.flatMap((capability) => capability.tools ?? [])];
  return [...new Set(all.map(({ definition }) => definition.name))];
}

/** Returns a message for each name that no tool of an agent has. Skips patterns and names in other notations, which may match later. */
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

/** Returns the message for an unknown tool name, with similar names. */
function describeUnknown(tool: string, near: readonly string[]): string {
  const what = isPattern(tool) ? `no tool's name matches "${tool}"` : `no tool is named "${tool}"`;
  return `${what}; ${near.length === 0 ? 'none is similar.' : `did you mean ${near.join(' or ')}?`}`;
}

/** Returns whether a capability's tools may change: a list behind a getter may grow. */
function mayBringMore(capability: Capability): boolean {
  for (let owner: object | null = capability; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const property = Object.getOwnPropertyDescriptor(owner, 'tools');
    if (property !== undefined) return property.get !== undefined;
  }
  return false;
}

const WILDCARD = /[*?\\]/;

/**
 * Returns at most 3 similar tool names, the nearest first. For a pattern, only the part before its first wildcard is compared with the
 * beginnings of names.
 */
function nearTools(name: string, known: Iterable<string>): readonly string[] {
  const end = name.search(WILDCARD);
  return nearNames(end < 0 ? name : name.slice(0, end), known, end >= 0).slice(0, 3);
}
