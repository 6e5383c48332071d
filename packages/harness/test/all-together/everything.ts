import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type CompactionCapabilityConfig, compaction, toolResultEviction } from '@x/compaction';
import {
  type AgentEvent,
  type AgentState,
  type CallScope,
  type Capability,
  defineTool,
  estimateCounter,
  type SessionStore,
} from '@x/core';
import { memory, sessionHistory, workspaceContext } from '@x/memory';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { z } from 'zod';
import {
  agentsFiles,
  budget,
  HarnessAgent,
  permissions,
  planMode,
  shell,
  skills,
  subagents,
  todoList,
  toolGroups,
  workspaceTools,
} from '../../src/index.js';
import { type McpClient, mcp } from '../../src/mcp/index.js';
import { telemetry } from '../../src/telemetry/index.js';

/** Everything that the tools of all capabilities are told with takes half of it. */
const WINDOW = 16_000;
export const ANSWER_OF_HELPER = 'The helper has found it.';

const FILES: Readonly<Record<string, string>> = {
  'AGENTS.md': 'Write tests first.',
  'src/AGENTS.md': 'Two spaces in src.',
  'src/main.ts': Array.from({ length: 200 }, (_, line) => `export const line${line} = ${line};`).join('\n'),
  'skills/deploy/SKILL.md':
    '---\nname: deploy\ndescription: How to deploy\n---\nPush, then wait for the lights.',
  'skills/deploy/steps.md': 'One, two, three.',
};

/** Puts a project into an empty directory. */
export function furnish(directory: string): void {
  for (const [path, text] of Object.entries(FILES)) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

const look = defineTool({
  name: 'look',
  description: 'Looks at something',
  readOnly: true,
  input: z.object({ at: z.number(), words: z.number() }),
  execute: ({ at, words }) => `${at}: ${'word '.repeat(words)}`,
});

/** How often money was paid, by amount: no amount may be paid twice. */
export function purse() {
  const paid: number[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ amount: z.number() }),
    execute: ({ amount }) => {
      paid.push(amount);
      return `paid ${amount}`;
    },
  });
  return { pay, paid };
}

const box: McpClient = {
  listTools: async () => ({
    tools: [
      { name: 'put', description: 'Puts something into the box', inputSchema: { type: 'object' } },
      {
        name: 'peek',
        description: 'Looks into the box',
        inputSchema: { type: 'object' },
        annotations: { readOnlyHint: true },
      },
    ],
  }),
  callTool: async ({ name }) => ({ content: [{ type: 'text', text: `${name} is done ${'x'.repeat(900)}` }] }),
};

/** What one compaction must leave alone, as it was before and after each of them. */
export interface Untouched {
  readonly before: string;
  readonly after: string;
  /** Requests that had been sent by then. */
  readonly requests: number;
}

/** All that compaction never touches: the four contexts, and what other capabilities keep; memory takes its section again. */
export function untouchedOf(state: AgentState): string {
  const { permissionContext, planModeContext, tasksContext, toolContext, extensions } = state;
  const { compaction: _, memory: __, ...others } = extensions as Record<string, unknown>;
  return JSON.stringify({ permissionContext, planModeContext, tasksContext, toolContext, others });
}

export const makers: Readonly<Record<string, () => Capability | Promise<Capability>>> = {
  eviction: () => toolResultEviction({ maxResultChars: 8_000, previewChars: 400 }),
  memory: () => memory({ model: null, consolidationGapMs: 0, maintenance: false }),
  sessionHistory: () => sessionHistory({ maxOutputChars: 4_000 }),
  workspaceContext: () => workspaceContext(),
  todoList: () => todoList(),
  planMode: () => planMode(),
  permissions: () =>
    permissions({
      allow: ['write_file(src/**)', 'edit_file(src/**)', 'execute(echo *)', 'memory_forget', 'mcp__box__*'],
      deny: ['execute(rm *)'],
    }),
  toolGroups: () =>
    toolGroups({ money: { description: 'Paying, and the box', tools: ['pay', 'mcp__box__*'] } }),
  subagents: () =>
    subagents([
      {
        name: 'helper',
        description: 'Helps',
        model: new ScriptedModel(
          [{ when: () => true, reply: { text: ANSWER_OF_HELPER }, times: Number.POSITIVE_INFINITY }],
          { id: 'helper', contextWindow: WINDOW },
        ),
      },
    ]),
  skills: () => skills(),
  agentsFiles: () => agentsFiles(),
  workspaceTools: () => workspaceTools({ maxReadChars: 4_000 }),
  shell: () => shell(),
  budget: () => budget({ maxTokensPerSession: 1_000_000_000 }),
  mcp: () => mcp({ servers: { box: { client: box } } }),
  telemetry: () => telemetry(),
};

export interface EverythingOptions {
  readonly directory: string;
  readonly session: SessionStore;
  readonly script: readonly ScriptEntry[];
  /** Tokens; {@link WINDOW} unless given. */
  readonly window?: number;
  /** Names of {@link makers}, in the order of installation; `compaction` stands among them. */
  readonly order?: readonly string[];
  readonly pay?: ReturnType<typeof purse>['pay'];
  /** In groups, without a preset. */
  readonly compaction?: Extract<CompactionCapabilityConfig, { readonly preset?: undefined }>;
  readonly onEvent?: (event: AgentEvent) => void;
}

/** One process: an agent with the capabilities named, and what was seen of its compactions. */
export async function everything(options: EverythingOptions) {
  const order = options.order ?? [
    'permissions',
    'eviction',
    'compaction',
    ...without('permissions', 'eviction'),
  ];
  const model = new ScriptedModel(options.script, {
    id: 'lead',
    contextWindow: options.window ?? WINDOW,
    enforceWindow: { counter: estimateCounter },
  });
  const compactions: Untouched[] = [];
  let before = '';
  const compact = () =>
    compaction({
      model: null,
      keep: { tokens: 1_500 },
      counter: estimateCounter,
      beforeCompaction: (_, { state }: CallScope) => {
        before = untouchedOf(state);
      },
      afterCompaction: ({ success }, { state }) => {
        if (success) compactions.push({ before, after: untouchedOf(state), requests: model.requests.length });
      },
      ...options.compaction,
    });
  const capabilities = await Promise.all(
    order.map((name) => (name === 'compaction' ? compact() : (makers[name]?.() as Capability))),
  );
  const events: AgentEvent[] = [];
  const agent = HarnessAgent.builder()
    .name('lead')
    .systemPrompt('You do everything.')
    .model(model)
    .workspace(options.directory)
    .isolation('shared')
    .session(options.session)
    .tools(look, options.pay ?? purse().pay)
    .checkpoint('step')
    .maxIterations(200)
    .settings({ retryDelayMs: 0 })
    .use(...capabilities)
    .onEvent((event) => {
      events.push(event);
      options.onEvent?.(event);
    })
    .build();
  return { agent, model, events, compactions };
}

function without(...names: readonly string[]): readonly string[] {
  return Object.keys(makers).filter((name) => !names.includes(name));
}
