import {
  type AgentState,
  type CallScope,
  type Capability,
  defineTool,
  isContextOverflow,
  type Message,
  type ModelResponse,
  type ReasonScope,
} from '@x/core';
import { isRefused, parseWith, type UserScope, warn } from '@x/core/internal';
import * as z from 'zod';
import { triggerAbove, type WithoutPreset } from '../config/compaction-config.js';
import { redactorFor } from '../conversation/redaction.js';
import { errorLine } from '../conversation/text.js';
import { SessionRecall } from '../recall/session-recall.js';
import { receiptFor } from '../receipt.js';
import { type CompactionCapabilityConfig, capabilityConfigSchema } from './capability-config.js';
import { CompactionRunner } from './compaction-runner.js';
import { addPin, removePin } from './keep-pins.js';
import { nativeIsUnused } from './native-notice.js';
import { refuseCopiedStubs } from './refuse-copied-stubs.js';
import { calibrationOf, changeNotes, notesIn } from './stored-state.js';

/**
 * Keeps an agent's conversation inside its budget. It reduces before a model call if a trigger is reached, after a provider's overflow
 * error (then the call is retried once), and on demand. Messages are logged before they are reduced, and a failure leaves the conversation
 * unchanged. Without `model`, the agent's own model writes the summaries. With `model: null`, no model is called, and the summary is a
 * record that rules make.
 *
 * @example
 * const agent = HarnessAgent.builder()
 *   .name('coder')
 *   .model(model)
 *   .use(compaction({ trigger: { share: 0.8 }, keep: { messages: 20 } }))
 *   .build();
 *
 * @throws {InvalidInputError} naming every unknown key and every combination that cannot work.
 */
export function compaction(config: CompactionCapabilityConfig): Capability;
// Keep this overload last: TypeScript reports errors against the last one.
export function compaction(config?: WithoutPreset<CompactionCapabilityConfig>): Capability;
export function compaction(config: CompactionCapabilityConfig = {}): Capability {
  // Long because it is the table of all hooks, and the state that they share.
  const settings = parseWith(capabilityConfigSchema, config, 'compaction configuration');
  const runner = new CompactionRunner(settings);
  const recall = settings.recall ? new SessionRecall(redactorFor(settings.redact)) : undefined;
  const tools = [
    ...(recall ? [recall.tool] : []),
    ...(settings.compactTool ? [compactTool((state) => runner.tracker(state).fill)] : []),
  ];

  /** Forgets the sessions of a user, or all. */
  async function forget(user?: UserScope): Promise<void> {
    runner.forget(user);
    recall?.forget();
  }

  /** Calls the model and calibrates our token count with the usage that it reports. */
  async function measured(
    scope: ReasonScope,
    next: () => Promise<ModelResponse>,
    counted: number,
  ): Promise<ModelResponse> {
    const tracker = runner.tracker(scope.state);
    const { version } = tracker;
    const response = await next();
    if (tracker.version === version) {
      runner.windows.learnUsage(scope, runner.memory(scope), response.usage?.inputTokens ?? 0, counted);
    }
    return response;
  }

  async function remind(scope: CallScope, recall: SessionRecall): Promise<readonly Message[]> {
    try {
      const free = (more: number) => runner.free(scope, more);
      const reminder = await recall.remind(scope, runner.meter(scope), free);
      return reminder ? [reminder] : [];
    } catch (error) {
      // The request is then sent without a reminder.
      const message = `recall failed, so this request has no reminder: ${errorLine(error)}`;
      scope.emit({ type: 'warning', source: 'compaction', message });
      return [];
    }
  }

  return {
    name: 'compaction',
    ...(tools.length > 0 ? { tools } : {}),
    // No call is running yet, so warnings cannot be events.
    install({ model }) {
      runner.windows.own ??= model.id;
      runner.warnOfNative(model, (event) => {
        if (event.type === 'warning') warn(`${event.source}: ${event.message}`);
      });
      const above = triggerAbove(config, settings.contextWindow ?? model.contextWindow);
      for (const problem of [nativeIsUnused(settings, runner.stages, model), above]) {
        if (problem !== undefined) warn(`compaction: ${problem}`);
      }
    },
    remind: (scope) => (recall ? remind(scope, recall) : []),
    async aroundReason(scope, next) {
      const memory = runner.memory(scope);
      const { asked } = notesIn(scope.state);
      if (typeof asked === 'string') {
        changeNotes(scope.state, { asked: undefined });
        await runner.run(scope, 'manual', { instructions: asked });
      }
      const counted = await runner.reduceIfDue(scope);
      try {
        return await measured(scope, next, counted);
      } catch (error) {
        if (!isContextOverflow(error) && !runner.windows.mayBeTooLarge(scope, memory, counted, error))
          throw error;
        const { bytes } = runner.tracker(scope.state);
        const reduced = await runner.reduceAfterOverflow(scope, error);
        // If the reduction did not help, throw the provider's own error, which says the most.
        if (!reduced) throw error;
        const response = await measured(scope, next, runner.measure(scope)).catch(async (second: unknown) => {
          // The size was not the reason. A summary could quote the rejected content, which then could not be set aside.
          if (!isContextOverflow(error) && isRefused(second)) await runner.undo(scope);
          throw second;
        });
        runner.windows.learnFromRetry(scope, counted, bytes, error);
        return response;
      }
    },
    tokenRatio: ({ state, model }) => calibrationOf(state, model),
    authorize: (call, { state }) => refuseCopiedStubs(call, state.context, runner.truncations(state)),
    compact: (scope, options) => runner.run(scope, 'manual', options),
    undo: (scope) => runner.undo(scope),
    explain: (session) => receiptFor(session, redactorFor(settings.redact)),
    pin: (scope, what) => addPin(scope, what, runner.meter(scope), runner.windows.of(scope).tokens),
    unpin: async (scope, id) => removePin(scope, id),
    erase: forget,
    close: () => forget(),
  };
}

/** Share of the compaction trigger from which a model may request a compaction. Below it, the loss outweighs the saving. */
const WORTH_ASKING = 0.5;

/** Makes the tool with which a model requests a compaction. The compaction runs before the model's next step. */
function compactTool(fillOf: (state: AgentState) => number) {
  return defineTool({
    name: 'compact',
    description:
      'Replaces the older part of this conversation with a record of it, before your next step. Use it when a piece of ' +
      'work is finished and its details no longer matter. Do not use it in the middle of a piece of work.',
    input: z.strictObject({
      keep: z.string().max(2_000).optional().describe('What the record must keep'),
    }),
    sessionOnly: true,
    execute: ({ keep = '' }, { state }) => {
      const fill = fillOf(state);
      if (fill < WORTH_ASKING) {
        throw new Error(
          `The conversation has ${Math.round(fill * 100)} % of the size at which it is compacted automatically, so there is still ` +
            `room. Continue, and ask again at ${WORTH_ASKING * 100} %.`,
        );
      }
      // Noted in the state, because the next step may run after an approval or in another process.
      changeNotes(state, { asked: keep });
      return 'The older part will be replaced by a record before your next step.';
    },
  });
}
