import {
  assistantMessage,
  type ContentBlock,
  isContextOverflow,
  type JsonObject,
  type Message,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ReasonScope,
  textOf,
} from '@x/core';
import { mayRefuseItems, soundUsage } from '@x/core/internal';
import { classifyModelError } from '@x/core/messages';
import { answerAsText } from '../output/final-answer.js';
import { around } from './around.js';
import { callModel } from './call-model.js';
import { reasonScope } from './reason-scope.js';
import { AUTHOR, type RunningCall } from './running-call.js';
import { unfitRequest } from './unfit-request.js';

/** One reasoning step: assembles the view, calls the model, appends what it answered. */
export async function reason(call: RunningCall, streaming: boolean): Promise<Message | undefined> {
  const startedAt = performance.now();
  call.draft.begin();
  const response = await respond(call, streaming);
  // A hook may have answered in place of a model.
  const usage = soundUsage(response.usage);
  call.addUsage(usage);

  const content = withDistinctIds(response.content);
  const message = assistantMessage(content, {
    id: call.draft.messageId,
    ...authorship(content, call.scope.model),
  });
  if (streaming) call.draft.complete(textOf(message));
  call.draft.end();
  // An empty answer is none: providers refuse empty messages in the next request.
  if (content.length > 0) call.add([message]);
  else call.lastAssistant = undefined;
  call.finishReason = response.finishReason;
  if (response.id !== undefined) call.responseIds.push(response.id);
  call.emit({
    type: 'model.completed',
    step: call.step,
    message,
    finishReason: response.finishReason,
    usage,
    durationMs: performance.now() - startedAt,
  });
  return content.length > 0 ? message : undefined;
}

/** Gives a number to the id of each call that an earlier call of the answer has too: providers refuse the next request else. */
function withDistinctIds(content: readonly ContentBlock[]): readonly ContentBlock[] {
  const taken = new Set<string>();
  return content.map((block) => {
    if (block.type !== 'tool_use') return block;
    let { id } = block;
    for (let number = 2; taken.has(id); number++) id = `${block.id}_${number}`;
    taken.add(id);
    return id === block.id ? block : { ...block, id };
  });
}

/** Asks the model, or the next one when it failed for good, with a view that fits the new window. */
async function respond(call: RunningCall, streaming: boolean): Promise<ModelResponse> {
  let leavesOut = false;
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
      return response;
    } catch (error) {
      leavesOut = !leavesOut && isOfItems(call, error);
      if (leavesOut) continue;
      if (!(await call.fallBack(error)))
        throw isUnrescued(call, error) ? unfitRequest(call, scope, error) : error;
    }
  }
}

/** Tests whether the model may have refused thoughts or a compaction that its provider had given, as after a change of its key or behind another address. */
function isOfItems(call: RunningCall, error: unknown): boolean {
  if (error !== call.modelFailure || !mayRefuseItems(error)) return false;
  const isSaid = classifyModelError(error) === 'unreadable';
  return call.scope.state.context.some(({ content }) =>
    content.some((block) => (isSaid ? isPrivate(block) : block.type === 'opaque')),
  );
}

/** Takes out of the conversation for good what was refused, once a request without it has succeeded. */
function leaveOutRefused({ scope }: RunningCall): void {
  const context = scope.state.contextMutable();
  context.splice(0, context.length, ...context.flatMap(withoutThoughts));
  scope.emit({
    type: 'warning',
    source: scope.model.id,
    message: `${scope.model.id} no longer reads what it had encrypted. Its thoughts and compactions are left out; the record of each compaction is sent in its place.`,
  });
}

/** Tells whether a compaction tried to make the request fit, and failed. A skipped compaction did not try. */
function isUnrescued(call: RunningCall, error: unknown): boolean {
  const { lastRescue, modelFailure } = call;
  if (error !== modelFailure || lastRescue === undefined || lastRescue.status === 'skipped') return false;
  return isContextOverflow(error);
}

/** Sends the present view through the hooks around the request to the model. The innermost layer. */
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
  const request: ModelRequest = {
    system: scope.system === '' ? undefined : scope.system,
    messages: [...readable, ...scope.reminders],
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
  // A hook may ask more than once.
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

/** Names the author of an answer that holds what only its author can read: thoughts, signatures, opaque items. */
function authorship(content: readonly ContentBlock[], model: Model): { metadata?: JsonObject } {
  return content.some(isPrivate) ? { metadata: { [AUTHOR]: model.id } } : {};
}

/**
 * Returns the conversation as `model` may read it. Answers of other models lose their thoughts and opaque items (whole, never
 * just a signature) and the metadata of their provider. A message with nothing else is left out. Returns the same list when
 * there is nothing to leave out.
 *
 * @param authors The models that may have written some of them.
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
