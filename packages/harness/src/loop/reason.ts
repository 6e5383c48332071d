import {
  assistantMessage,
  type ContentBlock,
  type FinishReason,
  isContextOverflow,
  type JsonObject,
  type Message,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ReasonScope,
  textOf,
} from '@x/core';
import { FINISH_REASONS, mayRefuseItems, quotesStrangers, REMINDED, soundUsage } from '@x/core/internal';
import { answerAsText } from '../output/final-answer.js';
import { around } from './around.js';
import { callModel } from './call-model.js';
import { withWeight } from './heavy-request.js';
import { reasonScope } from './reason-scope.js';
import { isWithheld, RefusedContent, WITHHELD_MARK } from './refused-content.js';
import { RequestView } from './request-view.js';
import { AUTHOR, DROPPED, type RunningCall } from './running-call.js';
import { unfitRequest } from './unfit-request.js';

/** Runs one reasoning step: assembles the view, calls the model, appends the answer. */
export async function reason(call: RunningCall, streaming: boolean): Promise<Message | undefined> {
  const startedAt = performance.now();
  call.draft.begin();
  call.answerIds.begin(call.draft.messageId);
  const response = await respond(call, streaming);
  // The answer may come from a hook, so its usage is validated.
  const usage = soundUsage(response.usage);
  call.addUsage(usage);

  const { content, ...dropped } = withoutSurplus(call, call.answerIds.distinct(response.content));
  call.finishReason = knownReason(call, response);
  const reminded = (call.reason?.reminders ?? []).filter(quotesStrangers).map(({ id }) => id);
  const metadata = {
    ...authorship(content, call.scope.model),
    ...dropped,
    ...(reminded.length > 0 && { [REMINDED]: reminded }),
    ...(isWithheld(call.finishReason) && { [WITHHELD_MARK]: true }),
  };
  const message = assistantMessage(content, {
    id: call.draft.messageId,
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  });
  if (streaming) call.draft.complete(textOf(message));
  call.draft.end();
  // An empty answer is not stored: providers reject empty messages in the next request.
  if (content.length > 0) call.add([message]);
  else call.lastAssistant = undefined;
  if (response.id !== undefined) call.responseIds.push(response.id);
  call.emit({
    type: 'model.completed',
    step: call.step,
    message,
    finishReason: call.finishReason,
    usage,
    durationMs: performance.now() - startedAt,
  });
  return content.length > 0 ? message : undefined;
}

/** Returns why the model stopped. An unknown reason becomes `other`, so that the answer is not lost. */
function knownReason(call: RunningCall, { finishReason: given, content }: ModelResponse): FinishReason {
  const reason = FINISH_REASONS.find((known) => known === given) ?? 'other';
  if (reason === 'other' && !content.some(({ type }) => type === 'tool_use')) {
    const { id } = call.scope.model;
    const message = `${id} ended its answer with the unknown reason ${JSON.stringify(given)}; the answer may be incomplete.`;
    call.emit({ type: 'warning', source: id, message });
  }
  return reason;
}

/** Removes calls beyond the limit of an answer. The model is informed in the next step. */
function withoutSurplus(
  call: RunningCall,
  content: readonly ContentBlock[],
): { readonly content: readonly ContentBlock[]; readonly [DROPPED]?: number } {
  const most = call.settings.limits.answerCalls || Number.POSITIVE_INFINITY;
  let calls = 0;
  const kept = content.filter((block) => block.type !== 'tool_use' || ++calls <= most);
  if (calls <= most) return { content };
  const message = `${call.scope.model.id} made ${calls} tool calls in one answer. Only the first ${most} run (limits.answerCalls).`;
  call.emit({ type: 'warning', source: 'limits', message });
  return { content: kept, [DROPPED]: calls - most };
}

/** Calls the model. If it fails permanently, calls the next one with a view that fits its window. */
async function respond(call: RunningCall, streaming: boolean): Promise<ModelResponse> {
  let leavesOut = false;
  let refused = new RefusedContent(call);
  for (;;) {
    const scope = await reasonScope(call);
    call.lastRescue = undefined;
    try {
      const response = await around(
        call.capabilities,
        'aroundReason',
        scope,
        () => ask(call, scope, streaming, leavesOut),
        call.settings.limits,
      )();
      if (leavesOut) leaveOutRefused(call);
      if (!isWithheld(response.finishReason)) refused.keep();
      else if (refused.setAsideLeft(response.finishReason)) {
        call.addUsage(soundUsage(response.usage));
        call.reportUnused(soundUsage(response.usage));
        continue;
      } else refused.restore();
      return response;
    } catch (error) {
      leavesOut = !leavesOut && isOfItems(call, error);
      if (leavesOut || refused.setAside(error)) continue;
      refused.restore();
      if (await call.fallBack(error)) {
        refused = new RefusedContent(call);
        continue;
      }
      if (isUnrescued(call, error)) throw unfitRequest(call, scope, error);
      if (error !== call.modelFailure) throw error;
      throw withWeight(error, scope.model.id, scope.state.context);
    }
  }
}

/**
 * Tests whether the provider may have rejected content that only it can read: thoughts, signatures, and items by their ids. This happens
 * after a change of key or address. Providers report it in too many ways, so every rejection is retried once without this content.
 */
function isOfItems(call: RunningCall, error: unknown): boolean {
  if (error !== call.modelFailure || call.scope.signal.aborted || !mayRefuseItems(error)) return false;
  return call.scope.state.context.some(({ content }) => content.some(isPrivate));
}

/** Permanently removes rejected items from the conversation, once a request without them has succeeded. */
function leaveOutRefused({ scope }: RunningCall): void {
  const context = scope.state.contextMutable();
  context.splice(0, context.length, ...context.flatMap(withoutThoughts));
  scope.emit({
    type: 'warning',
    source: scope.model.id,
    message: `${scope.model.id} no longer reads its encrypted thoughts and compactions. They are left out, and the record of each compaction is sent instead.`,
  });
}

/** Returns whether a compaction tried to make the request fit, and failed. A skipped compaction did not try. */
function isUnrescued(call: RunningCall, error: unknown): boolean {
  const { lastRescue, modelFailure } = call;
  if (error !== modelFailure || lastRescue === undefined || lastRescue.status === 'skipped') return false;
  return isContextOverflow(error);
}

/** Sends the current view through the hooks around the model request, and then to the model. */
async function ask(
  call: RunningCall,
  scope: ReasonScope,
  streaming: boolean,
  leavesOut: boolean,
): Promise<ModelResponse> {
  const { settings, capabilities } = call;
  const { output } = call.options;
  const { reasoningEffort, stopSequences, providerOptions } = call.control;
  const answerTool = call.answerTool?.name;
  const context = call.measure(scope);
  const { context: messages } = scope.state;
  const readable = leavesOut
    ? messages.flatMap(withoutThoughts)
    : readableBy(scope.model, messages, call.authors);
  const view = readable === messages ? call.view : new RequestView();
  const replaced = (line: string, { id }: Message) => {
    // Warns only in the call that added the message, not in every later call.
    if (!call.messages.some((added) => added.id === id)) return;
    call.emit({ type: 'warning', source: scope.model.id, message: line });
  };
  const request: ModelRequest = {
    system: scope.system === '' ? undefined : scope.system,
    messages: view.of(readable, scope.reminders, scope.model, replaced),
    tools: scope.tools,
    ...(scope.model.structuredOutput && output ? { responseFormat: output.responseFormat } : {}),
    maxOutputTokens: call.control.maxOutputTokens ?? settings.maxOutputTokens,
    temperature: call.control.temperature ?? settings.temperature,
    ...definedOf({
      toolChoice: call.toolChoice(scope.tools),
      reasoningEffort,
      stopSequences,
      providerOptions,
    }),
    signal: scope.signal,
  };
  call.emit({ type: 'model.started', step: call.step, context });
  // A hook may send more than one request.
  call.draft.discard();
  const send = around(
    capabilities,
    'aroundModel',
    scope,
    async (argument) => {
      try {
        const response = await callModel(argument, call, streaming);
        return answerTool === undefined ? response : answerAsText(response, answerTool);
      } catch (error) {
        call.modelFailure = error;
        throw error;
      }
    },
    settings.limits,
  );
  return send(request);
}

function definedOf<Values extends object>(values: Values): Partial<Values> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined),
  ) as Partial<Values>;
}

/** Returns metadata with the model's id if only this model can read parts of the answer: thoughts, signatures, opaque items. */
function authorship(content: readonly ContentBlock[], model: Model): JsonObject {
  return content.some(isPrivate) ? { [AUTHOR]: model.id } : {};
}

/**
 * Returns the conversation in the form that `model` can read. Answers of other models lose their thoughts, opaque items and provider
 * metadata. Thoughts are removed whole, never only their signature. Messages that are then empty are removed. Returns the same list if
 * there is nothing to remove.
 *
 * @param authors The models that may have written parts of the conversation.
 */
function readableBy(
  { id }: Model,
  messages: readonly Message[],
  authors: ReadonlySet<unknown>,
): readonly Message[] {
  const isForeign = ({ metadata }: Message) => ![undefined, id].includes(metadata?.[AUTHOR] as string);
  if (![...authors].some((author) => author !== id) || !messages.some(isForeign)) return messages;
  return messages.flatMap((message) => (isForeign(message) ? withoutThoughts(message) : message));
}

function withoutThoughts(message: Message): readonly Message[] {
  if (!message.content.some(isPrivate)) return [message];
  const content = message.content
    .filter((block) => block.type !== 'thinking' && block.type !== 'opaque')
    .map((block): ContentBlock => {
      if (block.providerMetadata === undefined) return block;
      const { providerMetadata: _, ...rest } = block;
      return rest;
    });
  return content.length === 0 ? [] : [{ ...message, content }];
}

function isPrivate(block: ContentBlock): boolean {
  return block.type === 'thinking' || block.type === 'opaque' || block.providerMetadata !== undefined;
}
