import type { AgentComposition, Capability, JsonObject, ModelResponse, ReasonScope, Tool } from '@x/core';
import { confineWorkspace, errorText } from '@x/core/internal';

/** One tool call of the attacker. */
export interface Attack {
  readonly name: string;
  readonly input: JsonObject;
}

/** Makes one tool call inside the running call of the agent, and returns the result that the model would see. */
export type MakeCall = (attack: Attack) => Promise<string>;

/**
 * Makes tool calls inside a call of an agent, without a step of its model for each. A direct call parses its input, asks every
 * capability for permission, confines the workspace and runs the tool, as the loop does. It skips the hooks around tools, the context and
 * the log.
 */
export class DirectCalls implements Capability {
  readonly name = 'direct_calls';
  #agent: AgentComposition | undefined;
  #work: ((make: MakeCall, tools: ReasonScope['tools']) => Promise<void>) | undefined;

  /** Whether an agent uses the capability. */
  get isInstalled(): boolean {
    return this.#agent !== undefined;
  }

  /** Runs `work` at the beginning of the agent's next step. */
  attempt(work: (make: MakeCall, tools: ReasonScope['tools']) => Promise<void>): void {
    this.#work = work;
  }

  install(agent: AgentComposition): void {
    this.#agent = agent;
  }

  async aroundReason(scope: ReasonScope, next: () => Promise<ModelResponse>): Promise<ModelResponse> {
    const [agent, work] = [this.#agent, this.#work];
    // The subagents of the agent have the capability too.
    if (agent === undefined || scope.agentId !== agent.name) return next();
    this.#work = undefined;
    const found = [...agent.tools, ...agent.capabilities.flatMap(({ tools = [] }) => tools)];
    const byName = new Map(found.map((tool) => [tool.definition.name, tool]));
    await work?.(async (attack) => {
      scope.signal.throwIfAborted();
      const tool = byName.get(attack.name);
      return tool ? makeCall(tool, attack, agent, scope).catch(errorText) : '';
    }, scope.tools);
    return next();
  }
}

let made = 0;

async function makeCall(
  tool: Tool,
  { name, input: written }: Attack,
  { capabilities }: AgentComposition,
  scope: ReasonScope,
): Promise<string> {
  const use = { type: 'tool_use', id: `direct-${made++}`, name, input: written } as const;
  const input = tool.parse === undefined ? written : ((await tool.parse(written)) as typeof written);
  let { workspace } = scope;
  for (const capability of capabilities) {
    const objection = await capability.authorize?.({ ...use, input }, { ...scope, tool });
    // No human can answer a question here, so it counts as a denial.
    if (objection?.type === 'deny' || objection?.type === 'ask') return objection.reason ?? '';
    if (objection?.type === 'confine') workspace = confineWorkspace(workspace, objection.confine);
  }
  const { runtime, state, storage, log } = scope;
  // A separate signal: many concurrent calls would add too many listeners to the signal of the step.
  const signal = AbortSignal.any([scope.signal]);
  const denied = tool.keepsFiles ? capabilities.map((each) => each.deniesFiles?.(scope) ?? []) : [];
  const deniedFiles = (await Promise.all(denied)).flat();
  const surroundings = { runtime, state, workspace, storage, log, signal, deniedFiles };
  return JSON.stringify(await tool.run(written, { ...surroundings, call: use, idempotencyKey: use.id }));
}
