import { type Capability, isContextOverflow, type ModelResponse, parseWith, type ReasonScope } from '@x/core';
import { redactorFor } from '../conversation/redaction.js';
import { errorLine } from '../conversation/text.js';
import { SessionRecall } from '../recall/session-recall.js';
import { type CompactionCapabilityConfig, capabilityConfigSchema } from './capability-config.js';
import { CompactRequests } from './compact-tool.js';
import { CompactionRunner } from './compaction-runner.js';
import { refuseCopiedStubs } from './refuse-copied-stubs.js';
import { calibrate } from './stored-state.js';

/**
 * Keeps an agent's conversation inside its budget: before each model call when a trigger is reached, after a provider's
 * overflow error (once, then the same call again), and on demand. Messages are logged before anything is reduced and
 * every failure leaves the conversation as it was. Without `model` the agent's own model writes the summaries; with
 * `model: null` none does, and the record of what happened is the summary.
 *
 * @throws {InvalidInputError} naming every unknown key and every combination that cannot work.
 */
export function compaction(config: CompactionCapabilityConfig = {}): Capability {
  const settings = parseWith(capabilityConfigSchema, config, 'compaction configuration');
  const runner = new CompactionRunner(settings);
  const recall = settings.recall ? new SessionRecall(redactorFor(settings.redact)) : undefined;
  const requests = settings.compactTool ? new CompactRequests() : undefined;
  const tools = [recall?.tool, requests?.tool].filter((tool) => tool !== undefined);

  /** Calls the model, and learns from the usage that it reports how far our count is off. */
  async function measured(scope: ReasonScope, next: () => Promise<ModelResponse>): Promise<ModelResponse> {
    const { counted, version } = runner.measure(scope);
    const response = await next();
    recall?.answered(scope.state);
    if (response.usage && runner.measure(scope).version === version) {
      calibrate(scope.state, scope.model, response.usage.inputTokens, counted);
    }
    return response;
  }

  return {
    name: 'compaction',
    ...(tools.length > 0 ? { tools } : {}),
    async remind(scope) {
      try {
        const free = (more: number) => runner.free(scope, more);
        const reminder = await recall?.remind(scope, runner.meter(scope), free);
        return reminder ? [reminder] : [];
      } catch (error) {
        // A model goes on without it, as it does where nothing fits.
        const message = `nothing was recalled for this request: ${errorLine(error)}`;
        scope.emit({ type: 'warning', source: 'compaction', message });
        return [];
      }
    },
    async aroundReason(scope, next) {
      const asked = requests?.take(scope.state);
      if (asked) await runner.run(scope, 'manual', asked);
      await runner.reduceIfDue(scope);
      try {
        return await measured(scope, next);
      } catch (error) {
        if (!isContextOverflow(error)) throw error;
        const reduced = await runner.reduceAfterOverflow(scope, error);
        // Skipped, failed or of no use: the provider's own error says more than we could.
        if (!reduced) throw error;
        return await measured(scope, next);
      }
    },
    authorize: (call, { state }) => refuseCopiedStubs(call, state.context),
    compact: (scope, { instructions }) => runner.run(scope, 'manual', { instructions }),
    undo: (scope) => runner.undo(scope),
  };
}
