import { join, relative, sep } from 'node:path';
import { compaction, toolResultEviction } from '@x/compaction';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import { type Capability, type Message, type Model, mountWorkspace, userMessage } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { budget, type EventLog, eventLog, HarnessAgent, shell, todoList, workspaceTools } from '@x/harness';
import { memory, sessionHistory } from '@x/memory';
import type { Prices } from '@x/replay';
import { approvals } from './approvals.js';
import { forPage } from './server/errors.js';
import { openFiles, type Storage } from './storage.js';

export const AGENT = 'guide';

const SYSTEM_PROMPT = `You are a careful engineering assistant that works on one repository.
The repository is mounted read-only under repo/ for the file tools, and is the working directory of execute.
Everything outside repo/ is your own workspace: write reports there. Keep a todo list for any work of more than a few steps.
Older messages are compacted as you work. When you need something that you no longer see, search the log of this session or read it again.`;

/** File names that may contain secrets. The agent cannot see them. */
const KEPT_BACK = ['.env*', '.git', '.npmrc', '.netrc'];
/** The full-text index of memories and notes, in the data directory. It can be deleted and is then rebuilt from the files. */
const INDEX_FILE = 'memory_index.db';

export interface DemoAgent {
  readonly agent: HarnessAgent;
  /** The events of its sessions. */
  readonly events: EventLog;
  /** The system prompt and the tools of each session's last request, as messages, by session id. Not stored. */
  readonly frames: ReadonlyMap<string, readonly Message[]>;
  /** Tokens at which automatic compaction starts. */
  readonly triggerTokens: number;
}

interface CreateAgentOptions {
  readonly model: Model;
  /** Whether it is the embedded guide, which follows rules. */
  readonly embedded: boolean;
  /** US dollars per million tokens; undefined if unknown. */
  readonly prices?: Prices | undefined;
  /** The model for summaries and memories; `null` to use rules instead. Default: the agent's model, unless it is embedded. */
  readonly background?: Model | null | undefined;
  /** The directory for local data. */
  readonly data: string;
  /** The storage of sessions, logs and reports. Default: files in `data`. */
  readonly storage?: Storage | undefined;
  /** The repository that the agent may read. */
  readonly repo: string;
  /** Whether no human can be asked for approval. Default false. */
  readonly unattended?: boolean | undefined;
}

/** Share of the window at which compaction starts by default. */
const DUE_AT = 0.85;

/** Creates the demo's agent, which uses every package. */
export function createAgent(options: CreateAgentOptions): DemoAgent {
  const { model, embedded, prices, data, repo, unattended = false } = options;
  const { storage = openFiles(data) } = options;
  // The guide can write neither summaries nor notes: the record serves as summary, and nothing is remembered.
  const { background = embedded ? null : undefined } = options;
  const writer = background === undefined ? {} : { model: background };
  // The demo's data may be in the repository, where the agent must not read it.
  const inRepo = dataWithin(repo, data);
  const workspace = mountWorkspace(storage.workspace, {
    repo: new LocalWorkspace(repo, { readOnly: true, hidden: [...KEPT_BACK, ...inRepo] }),
  });
  const counter = tiktokenCounter();
  const window = model.contextWindow ?? 128_000;
  const frames = new Map<string, readonly Message[]>();
  const asMessage = (text: string): Message => ({ ...userMessage(text), role: 'system' });
  const framing: Capability = {
    name: 'framing',
    aroundModel(request, { state, system, tools }, next) {
      const sent = tools.map(({ annotations: _, ...tool }) => JSON.stringify(tool)).join('\n');
      frames.set(state.sessionId, [system, `Tools: ${sent}`].map(asMessage));
      return next(request);
    },
  };
  const events = eventLog({ onError: (error) => forPage(error).message });
  const agent = HarnessAgent.builder()
    .name(AGENT)
    .systemPrompt(SYSTEM_PROMPT)
    .model(model)
    .workspace(workspace)
    .isolation('shared')
    .session(storage.store)
    .tokenCounter(counter)
    .checkpoint('step')
    .maxIterations(500)
    // Add your own tools here, with `.tools(…)`. The embedded guide knows only the tools below, so it does not call yours.
    .use(
      toolResultEviction(),
      compaction({ counter, ...writer }),
      todoList(),
      workspaceTools({
        maxReadChars: Math.min(20_000, Math.floor(window / 2)),
        ignore: ['node_modules', '.git', 'dist', 'coverage'],
      }),
      shell({ cwd: repo, sandbox: 'auto', hidden: inRepo.map((name) => join(repo, name)) }),
      memory({
        index: join(data, INDEX_FILE),
        withoutUser: 'shared',
        // The embedded guide does not read memories in its prompt.
        maxPromptTokens: embedded ? 0 : 4_000,
        ...writer,
      }),
      sessionHistory({ withoutUser: 'shared' }),
      approvals({ embedded, unattended }),
      // Limits nothing: it counts tokens and cost for the terminal.
      budget({ maxTokensPerSession: Number.MAX_SAFE_INTEGER, prices: prices ? { '*': prices } : {} }),
      framing,
      events,
    )
    .build();
  return { agent, events, frames, triggerTokens: Math.floor(window * DUE_AT) };
}

/** Returns the directory of the repository that contains the demo's data; empty if it is elsewhere. */
function dataWithin(repo: string, data: string): readonly string[] {
  const [first = ''] = relative(repo, data).split(sep);
  return first === '' || first === '..' ? [] : [first];
}
