import {
  type AgentEvent,
  defineTool,
  type SessionStore,
  type ToolResultBlock,
  toolResultsOf,
  type Workspace,
} from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { z } from 'zod';
import { HarnessAgent, permissions } from '../../../src/index.js';

/** What the tools of one test have done, in order. */
export type Effects = string[];

/** `pay` must be approved, `note` need not, `look` only reads. */
function tools(effects: Effects) {
  const input = z.strictObject({ what: z.string() });
  const make = (name: string, readOnly: boolean) =>
    defineTool({
      name,
      description: name,
      readOnly,
      input,
      execute({ what }) {
        effects.push(`${name} ${what}`);
        return `${name} ${what}: done`;
      },
    });
  return [make('pay', false), make('note', false), make('look', true)];
}

interface NodeOptions {
  readonly script: readonly ScriptEntry[];
  readonly session: SessionStore;
  readonly workspace: string | Workspace;
  readonly effects: Effects;
  readonly approvalTimeoutMs?: number;
  readonly checkpoint?: 'call' | 'step';
  readonly onEvent?: (event: AgentEvent) => void;
}

/** One process of an agent: others share nothing with it but the store and the workspace. */
export function node(options: NodeOptions) {
  const model = new ScriptedModel(options.script);
  const builder = HarnessAgent.builder()
    .model(model)
    .workspace(options.workspace)
    .session(options.session)
    .tools(...tools(options.effects))
    .checkpoint(options.checkpoint ?? 'call')
    .settings({ approvalTimeoutMs: options.approvalTimeoutMs ?? 0 })
    .use(permissions({ allow: ['note'] }));
  if (options.onEvent) builder.onEvent(options.onEvent);
  return { agent: builder.build(), model };
}

/** Results by the id of their call, as the last request of a model held them. */
export function resultsIn(model: ScriptedModel): Record<string, string> {
  const results = model.requests.at(-1)?.messages.flatMap(toolResultsOf) ?? [];
  return Object.fromEntries(results.map((result) => [result.toolUseId, textIn(result)]));
}

function textIn(result: ToolResultBlock): string {
  const text = result.output.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return result.isError ? `error: ${text}` : text;
}

/** A step of four calls, of which two must be approved. */
export const FOUR = {
  toolCalls: [
    { id: 'a', name: 'look', input: { what: '1' } },
    { id: 'b', name: 'pay', input: { what: '2' } },
    { id: 'c', name: 'note', input: { what: '3' } },
    { id: 'd', name: 'pay', input: { what: '4' } },
  ],
};
