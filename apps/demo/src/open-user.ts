import { tiktokenCounter } from '@x/compaction/tiktoken';
import type { AgentEvent } from '@x/core';
import { modelPrices } from '../../cli/src/model-prices.js';
import { HarnessBackend } from './backend/harness-backend.js';
import type { ModelChoice } from './choose-model.js';
import { createAgent, type DemoAgent } from './create-agent.js';
import type { Starter } from './server/backend.js';
import type { DemoSettings } from './settings.js';
import { openStorage, userData } from './storage.js';

interface OpenUserOptions {
  readonly settings: DemoSettings;
  readonly choice: ModelChoice;
  /** None where there is one user alone. */
  readonly user: string | undefined;
  readonly version: string;
  readonly starters: readonly Starter[];
  /** Nobody is there to be asked. */
  readonly unattended?: boolean;
}

/** All that one user has: nothing of it, neither agent nor files nor memory, is shared with another. */
export interface OpenedUser {
  readonly demo: DemoAgent;
  readonly backend: HarnessBackend;
  /** Where sessions live, for people. */
  readonly storageName: string;
  /** Follows other servers on the same storage, where there may be some. Answers a function that ends it. */
  watch(): () => void;
  closeAgent(): Promise<void>;
  closeStorage(): Promise<void>;
}

/** Opens storage, agent and memory of a user. */
export async function openUser(options: OpenUserOptions): Promise<OpenedUser> {
  const { settings, choice, user, version, starters, unattended = false } = options;
  const storage = await openStorage({ ...settings, user });
  const data = user === undefined ? settings.data : userData(settings.data, user);
  let backend: HarnessBackend | undefined;
  const onEvent = (event: AgentEvent) => backend?.onEvent(event);
  const shared = user !== undefined;
  const demo = createAgent({ ...choice, data, repo: settings.repo, shared, storage, unattended, onEvent });
  const { triggerTokens, compaction } = demo;
  backend = new HarnessBackend({
    demo,
    counter: tiktokenCounter(),
    userId: user,
    info: {
      version,
      model: {
        id: choice.model.id,
        embedded: choice.embedded,
        prices: choice.embedded ? undefined : modelPrices(choice.model.id),
      },
      contextWindow: choice.model.contextWindow ?? 0,
      triggerTokens,
      compaction,
      workspace: storage.name,
      plans: !choice.embedded,
      starters,
    },
  });
  const opened = backend;
  return {
    demo,
    backend: opened,
    storageName: storage.name,
    watch: () => (storage.store.reach === 'cluster' ? opened.watch() : () => {}),
    async closeAgent() {
      await demo.agent.close();
      await opened.close();
    },
    closeStorage: () => storage.close(),
  };
}
