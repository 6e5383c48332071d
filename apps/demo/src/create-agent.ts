import { join, relative, sep } from 'node:path';
import { compaction, toolResultEviction } from '@x/compaction';
import { tiktokenCounter } from '@x/compaction/tiktoken';
import { type Model, mountWorkspace, type SessionStore, type Workspace } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { type EventLog, eventLog, HarnessAgent, shell, todoList, workspaceTools } from '@x/harness';
import { memory, sessionHistory } from '@x/memory';
import { approvals } from './approvals.js';
import { forPage } from './server/errors.js';
import { openFiles, type Storage } from './storage.js';

export const AGENT = 'guide';

const SYSTEM_PROMPT = `You are a careful engineering assistant that works on one repository.
The repository is mounted read-only under repo/ for the file tools, and is the working directory of execute.
Everything outside repo/ is your own workspace: write reports there. Keep a todo list for any work of more than a few steps.
Older messages are compacted as you work. When you need something that you no longer see, search the log of this session or read it again.`;

/** Names of the repository that hold secrets. */
const KEPT_BACK = ['.env*', '.git', '.npmrc', '.netrc'];
/** The full-text index of memories and notes, in the data directory. It may be deleted: it is made of the files. */
const INDEX_FILE = 'memory_index.db';

export interface DemoAgent {
  readonly agent: HarnessAgent;
  /** The events of its sessions. */
  readonly events: EventLog;
  /** What the agent keeps for itself: logs, memory, tasks, plans. */
  readonly storage: Workspace;
  readonly store: SessionStore;
  /** Tokens at which a compaction begins by itself. */
  readonly triggerTokens: number;
}

interface CreateAgentOptions {
  readonly model: Model;
  /** True for the embedded guide, which follows rules. */
  readonly embedded: boolean;
  /** Writes summaries and memories; `null`: rules do. Default: the model, unless it is embedded. */
  readonly background?: Model | null | undefined;
  /** The directory of this machine's files. */
  readonly data: string;
  /** The storage of sessions, logs and reports. Default: files in `data`. */
  readonly storage?: Storage | undefined;
  /** The repository that the agent may read. */
  readonly repo: string;
  /** True when no human can be asked for permission. Default false. */
  readonly unattended?: boolean | undefined;
}

/** The share of the window at which compaction is due by default. */
const DUE_AT = 0.85;

/** The demo's agent: every package of the house, put together from parts. */
export function createAgent(options: CreateAgentOptions): DemoAgent {
  const { model, embedded, data, repo, unattended = false } = options;
  const { storage = openFiles(data) } = options;
  // The guide can write neither summaries nor notes: the record is the summary, and nothing is remembered.
  const { background = embedded ? null : undefined } = options;
  const { store } = storage;
  const workspace = mountWorkspace(storage.workspace, {
    repo: new LocalWorkspace(repo, { readOnly: true, hidden: [...KEPT_BACK, ...dataWithin(repo, data)] }),
  });
  const counter = tiktokenCounter();
  const window = model.contextWindow ?? 128_000;

  const remembering = memory({
    index: join(data, INDEX_FILE),
    withoutUser: 'shared',
    // Rules do not read memories in their prompt.
    maxPromptTokens: embedded ? 0 : 4_000,
    ...(background === undefined ? {} : { model: background }),
  });

  // The demo's data may are in the repository: commands are not to read it.
  const hidden = dataWithin(repo, data).map((name) => join(repo, name));

  const events = eventLog({ onError: (error) => forPage(error).message });
  const agent = HarnessAgent.builder()
    .name(AGENT)
    .systemPrompt(SYSTEM_PROMPT)
    .model(model)
    .workspace(workspace)
    .isolation('shared')
    .session(store)
    .tokenCounter(counter)
    .checkpoint('step')
    .maxIterations(500)
    // Tools of the demo's own go here, with `.tools(…)`. Without a key none is called: the guide's rules know only these.
    .use(
      toolResultEviction(),
      compaction({ counter, ...(background === undefined ? {} : { model: background }) }),
      todoList(),
      workspaceTools({
        maxReadChars: Math.min(20_000, Math.floor(window / 2)),
        ignore: ['node_modules', '.git', 'dist', 'coverage'],
      }),
      shell({ cwd: repo, sandbox: 'auto', hidden }),
      remembering,
      sessionHistory({ withoutUser: 'shared' }),
      approvals({ embedded, unattended }),
      events,
    )
    .build();
  return {
    agent,
    events,
    storage: agent.storage,
    store,
    triggerTokens: Math.floor(window * DUE_AT),
  };
}

/** Names the directory of the repository in which the demo's own data is, where it is. */
function dataWithin(repo: string, data: string): readonly string[] {
  const [first = ''] = relative(repo, data).split(sep);
  return first === '' || first === '..' ? [] : [first];
}
