import {
  type CallScope,
  type Capability,
  errorText,
  type FileCapability,
  fileCapability,
  fileSegment,
  type Model,
  parseWith,
  type ToolDefinition,
  type Workspace,
} from '@x/core';
import { inTurn, type Turns } from '../exclusively.js';
import { historyConfigSchema, sessionHistory } from '../history/session-history.js';
import { memoryPrefix, placeOfLog } from '../memory-scope.js';
import { MemoryService } from '../memory-service.js';
import { type MemoryConfig, type MemorySettings, memoryConfigSchema } from '../settings.js';
import { workspaceContext, workspaceContextConfigSchema } from '../workspace-context.js';
import { memoryChanges, memorySection, renewSection } from './memory-section.js';
import { memoryTools } from './memory-tools.js';

/** Warns whoever runs the agent: nothing else tells of it. */
const NO_USER =
  "memory() keeps nothing of a call without a user: name one in its context, or set withoutUser: 'shared' for a program of one person.";

/**
 * Long-term memory in files of the workspace: `MEMORY.md` stands in the system prompt, as it was when the session began or
 * was last compacted; what changed since stands behind the conversation. Daily notes below `memory/` can be searched and
 * read. After each call, and before a compaction, what is worth remembering of the conversation is added to the day's
 * note, and notes are merged into MEMORY.md: in the background, which `agent.close()` waits for. Each tenant, user and agent
 * has its own memory, and sees no other. Sessions without a user have none, unless `withoutUser` is `shared`.
 *
 * @throws {InvalidInputError} for a malformed configuration.
 *
 * @example
 * HarnessAgent.builder().use(memory({ index: './memory_index.db' }));
 */
export function memory(config: MemoryConfig = {}): Capability {
  const settings = parseWith(memoryConfigSchema, config, 'memory configuration');
  const keepers = new Map<Workspace, MemoryKeeper>();
  const keeperOf = (storage: Workspace, own: { readonly model?: Model } = {}) => {
    const keeper = keepers.get(storage) ?? new MemoryKeeper(settings, storage, own);
    keepers.set(storage, keeper);
    return keeper;
  };
  /** Sections as they stand in the system prompt of the step under way, and sessions that were compacted in it. */
  const shown = new WeakMap<object, string | undefined>();
  const compacted = new WeakSet<object>();
  const tools = settings.tools ? memoryTools(settings, ({ storage }) => keeperOf(storage).service) : [];
  const names = new Set(tools.map(({ definition }) => definition.name));
  const withoutOwn = new WeakMap<readonly ToolDefinition[], readonly ToolDefinition[]>();
  let isWarned = false;
  const remembers = ({ state }: CallScope) => {
    if (state.userId !== undefined || settings.withoutUser === 'shared') return true;
    if (!isWarned) process.emitWarning(NO_USER, { code: 'X_MEMORY_WITHOUT_USER' });
    isWarned = true;
    return false;
  };
  return {
    name: 'memory',
    tools,
    install: (agent) => void keeperOf(agent.storage, agent),
    offerTools(offered, scope) {
      if (remembers(scope)) return offered;
      const rest = withoutOwn.get(offered) ?? offered.filter(({ name }) => !names.has(name));
      withoutOwn.set(offered, rest);
      return rest;
    },
    async system(scope) {
      compacted.delete(scope.state);
      if (!remembers(scope)) return undefined;
      const section = await memorySection(scope, settings);
      shown.set(scope.state, section);
      return section;
    },
    remind: (scope) => (remembers(scope) ? memoryChanges(scope, settings) : []),
    async aroundModel(request, scope, next) {
      if (!compacted.delete(scope.state)) return next(request);
      const [old, fresh] = [shown.get(scope.state), await memorySection(scope, settings)];
      shown.set(scope.state, fresh);
      const { system = '' } = request;
      const renewed =
        old === undefined
          ? [system, fresh].filter(Boolean).join('\n\n')
          : system.replace(old, () => fresh ?? '');
      return next({ ...request, system: renewed });
    },
    observe(event, scope) {
      if (!remembers(scope)) return;
      if (event.type === 'context.compacted' && event.status === 'applied') {
        // The conversation is a new one for the provider's cache anyhow: now the section may change.
        renewSection(scope);
        compacted.add(scope.state);
      }
      // By now all that was said is in the session's log.
      if (event.type === 'call.completed' || event.type === 'call.failed') {
        keeperOf(scope.storage).flush(scope, 'turn');
      }
    },
    beforeReduction(_, scope) {
      if (remembers(scope)) keeperOf(scope.storage).flush(scope, 'compaction');
    },
    async erase(user) {
      for (const { service } of keepers.values()) await service.erase(user);
    },
    async close() {
      for (const { service } of keepers.values()) await service.close();
      keepers.clear();
    },
  };
}

/** Keeps the memory of one workspace beside the calls of an agent. */
class MemoryKeeper {
  readonly service: MemoryService;
  readonly #settings: MemorySettings;
  readonly #flushes: Turns = new Map();

  constructor(settings: MemorySettings, workspace: Workspace, own: { readonly model?: Model }) {
    const { maxPromptTokens: _, tools: __, maxOutputChars: ___, ...shared } = settings;
    const { model = own.model ?? null } = settings;
    this.#settings = settings;
    this.service = new MemoryService({ ...shared, model, workspace });
  }

  /** Flushes the session of a call in the background. */
  flush(scope: CallScope, reason: 'turn' | 'compaction'): void {
    const settings = this.#settings;
    // Not before there was a call: an agent that is built and not used leaves no trace.
    this.service.start(scope.emit);
    if (settings.flush === 'never' && !settings.consolidate && reason === 'turn') return;
    scope.background('memory', (signal) =>
      inTurn(this.#flushes, scope.log.location, () => this.#work(scope, reason, signal)),
    );
  }

  async #work(scope: CallScope, reason: 'turn' | 'compaction', signal: AbortSignal): Promise<void> {
    const model = this.#settings.model === undefined ? scope.model : this.#settings.model;
    const options = { model, signal, emit: scope.emit };
    try {
      const { sessionId: session } = scope.state;
      const place = { ...placeOfLog(memoryPrefix(scope), fileSegment(session)), session };
      await this.service.flush(place, { ...options, reason });
      if (reason === 'compaction') return;
      await this.service
        .consolidate(place.prefix, options)
        .catch((error: unknown) => fail(scope, 'consolidation', error));
    } catch (error) {
      fail(scope, 'flush', error);
    }
  }
}

function fail(scope: CallScope, operation: 'flush' | 'consolidation', error: unknown): void {
  scope.emit({ type: 'memory.failed', operation, error: errorText(error) });
}

/** The capabilities of this package by the names that files use, to be registered in a `CapabilityRegistry`. */
export const memoryCapabilities: Readonly<Record<string, FileCapability>> = {
  memory: fileCapability('memory', memoryConfigSchema, memory),
  session_history: fileCapability('session_history', historyConfigSchema, sessionHistory),
  workspace_context: fileCapability('workspace_context', workspaceContextConfigSchema, workspaceContext),
};
