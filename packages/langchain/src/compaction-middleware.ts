import { randomUUID } from 'node:crypto';
import { AIMessage, type BaseMessage, RemoveMessage, type SystemMessage } from '@langchain/core/messages';
import { pickRunnableConfigKeys, type RunnableConfig } from '@langchain/core/runnables';
import { Command } from '@langchain/langgraph';
import { NarrativeDesks } from '@x/compaction/internal';
import { isContextOverflow, type Message } from '@x/core';
import { notify, same, wellFormed } from '@x/core/internal';
import { createMiddleware } from 'langchain';
import { compactorOf } from './compactor-of.js';
import { fromMessage } from './from-message.js';
import {
  type CompactionMiddlewareOptions,
  type CompactionMiddlewareSettings,
  checkOptions,
  middlewareContextSchema,
} from './middleware-options.js';
import { named, RequestMessages } from './reduced-request.js';
import { noteReplaced, withoutReplaced } from './replaced-messages.js';
import { type ResolvedSettings, resolveSettings } from './settings.js';
import { inTheirOrder } from './their-summary.js';
import { toMessage } from './to-message.js';
import { type Due, dueNow, duesAfterOverflow } from './trigger.js';

/** The id of a `RemoveMessage` that removes all messages of the state. */
const REMOVE_ALL = '__remove_all__';

/** The part of a run that LangChain passes to a hook. */
interface Runtime {
  readonly context?: CompactionMiddlewareSettings | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Middleware for `createAgent` that replaces `summarizationMiddleware` and accepts its options, including those for a single run
 * (`invoke(…, { context })`). If a trigger is reached before a model call, it reduces the messages of the state. If the provider rejects a
 * request as too large, it reduces the messages, retries the call, and updates the state. Outside the state, it keeps only summaries that
 * were not finished in time, for the next compaction. An unusable summary never replaces messages, and unaltered messages stay the same
 * objects.
 *
 * @example
 * ```ts
 * createAgent({ model, middleware: [compactionMiddleware({ model: 'openai:gpt-5-mini', trigger: { tokens: 100_000 } })] });
 * ```
 *
 * @throws {InvalidInputError} naming every option of a wrong type.
 */
export function compactionMiddleware(options: CompactionMiddlewareOptions = {}) {
  checkOptions(options);
  const desks = new NarrativeDesks();

  /** Returns the reduced messages with the compactor's outcome, or `undefined` if nothing was reduced. */
  async function reduce(
    settings: ResolvedSettings,
    runtime: Runtime,
    sources: readonly BaseMessage[],
    due: Due,
    system?: string,
  ): Promise<readonly BaseMessage[] | undefined> {
    const compactor = compactorOf(settings, due, desks, pickRunnableConfigKeys(runtime) as RunnableConfig);
    const { signal } = runtime;
    const outcome = await compactor.compact(sources.map(toMessage), {
      reason: due.reason,
      textOnly: true,
      onUsage: options.onUsage,
      ...(system ? { system } : {}),
      ...(signal === undefined ? {} : { signal }),
      // The window of the model may be smaller than the settings say.
      ...(due.window === undefined
        ? {}
        : { contextWindow: Math.min(due.window, settings.window ?? due.window) }),
    });
    if (outcome.status !== 'skipped') notify('onCompaction', options.onCompaction, outcome);
    if (outcome.status !== 'applied') return undefined;
    const messages = options.compactor ? outcome.messages : inTheirOrder(outcome.messages);
    const reduced = writtenFrom(messages, sources, settings.summaryPrefix);
    if (isInSubgraph(runtime)) noteReplaced(reduced, sources);
    return reduced;
  }

  return createMiddleware({
    name: 'CompactionMiddleware',
    contextSchema: middlewareContextSchema,
    beforeModel: async (state, runtime) => {
      for (const message of state.messages) message.id ??= randomUUID();
      const messages = withoutReplaced(state.messages);
      const settings = await resolveSettings(options, runtime.context ?? {});
      const due = await dueNow(settings, messages);
      const reduced = (due && (await reduce(settings, runtime, messages, due))) ?? messages;
      if (reduced === state.messages) return undefined;
      return { messages: [new RemoveMessage({ id: REMOVE_ALL }), ...identified(reduced, messages)] };
    },
    wrapModelCall: async (given, handler) => {
      const request = wholeRequest(given);
      try {
        return await handler(request);
      } catch (error) {
        if (!isOverflow(error)) throw error;
        const asked = new RequestMessages(request.messages, given.state.messages);
        const settings = await resolveSettings(options, given.runtime.context ?? {});
        const { conversation } = asked;
        let reduced: readonly BaseMessage[] | undefined;
        for (const due of await duesAfterOverflow(settings, conversation, error)) {
          reduced ??= await reduce(settings, given.runtime, conversation, due, request.systemMessage?.text);
        }
        if (reduced === undefined) throw error;
        const update = asked.stateUpdate(reduced);
        const answer = await handler({ ...request, messages: asked.withReduced(reduced) });
        return update === undefined ? answer : withUpdate(answer, update);
      }
    },
  });
}

/** Returns an answer that also updates the messages of the state. */
function withUpdate(answer: object, update: BaseMessage[]): Command {
  if (AIMessage.isInstance(answer)) return new Command({ update: { messages: update } });
  // The answer holds a structured response and messages. The types of LangChain leave this form out.
  const { messages } = answer as { readonly messages: readonly BaseMessage[] };
  return { ...answer, messages: [...update, ...messages] } as unknown as Command;
}

function writtenFrom(
  messages: readonly Message[],
  sources: readonly BaseMessage[],
  summaryPrefix: string | undefined,
): readonly BaseMessage[] {
  const originals = new Map(sources.map((source) => [source.id, source]));
  return messages.map((message) => fromMessage(message, originals.get(message.id), summaryPrefix));
}

/** Tests if a node of another graph runs the agent. LangGraph joins the names of nested nodes with `|`. */
function isInSubgraph(runtime: object): boolean {
  return String(pickRunnableConfigKeys(runtime)?.configurable?.checkpoint_ns).includes('|');
}

/** Replaces lone surrogates in the messages of a request. Returns the same object if there are none. */
function wholeRequest<R extends { messages: BaseMessage[]; systemMessage: SystemMessage }>(given: R): R {
  // Other middleware may edit the messages of the request in place, as `contextEditingMiddleware` does.
  const messages = same(given.messages, given.messages.map(whole)) as BaseMessage[];
  const systemMessage = given.systemMessage && (whole(given.systemMessage) as SystemMessage);
  const isWhole = messages === given.messages && systemMessage === given.systemMessage;
  return isWhole ? given : { ...given, messages, systemMessage };
}

/** Replaces lone surrogates in a message, because providers would reject every request with them. Returns the same object if there are none. */
function whole(source: BaseMessage): BaseMessage {
  const message = toMessage(source);
  const mended = wellFormed(message);
  return mended === message ? source : fromMessage(mended, source, undefined);
}

/** Gives a new summary the id of the first message that it replaces, as LangChain does, so that user interfaces recognize it. */
function identified(reduced: readonly BaseMessage[], before: readonly BaseMessage[]): readonly BaseMessage[] {
  const known = new Set(before.map(({ id }) => id));
  const staying = new Set(reduced.map(({ id }) => id));
  const id = before.find((message) => !staying.has(message.id))?.id;
  const summary = reduced.find(
    (message) => !known.has(message.id) && message.additional_kwargs.lc_source === 'summarization',
  );
  if (id !== undefined && summary !== undefined) named(summary, id);
  return reduced;
}

/** Tests for a context overflow. LangChain also has its own error class for it. */
function isOverflow(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth++) {
    if (at.name === 'ContextOverflowError') return true;
  }
  return isContextOverflow(error);
}
