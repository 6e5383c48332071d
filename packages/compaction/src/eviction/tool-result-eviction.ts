import {
  type Capability,
  estimateCounter,
  isContextOverflow,
  type Message,
  type ReasonScope,
  type ToolScope,
  textOf,
  toolResultsOf,
} from '@x/core';
import { countUpTo, countWork, inPieces, overflowFigures, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { countSchema } from '../config/values.js';
import { errorLine } from '../conversation/text.js';
import { matchesTool } from '../conversation/tool-calls.js';
import { Meter } from '../meter.js';
import { FALLBACK_CONTEXT_WINDOW, mostTokensOf } from '../run/budget.js';
import { cutMessage, fairShare, fileOf, tokensOf } from '../stages/cut-unseen.js';
import { evictedPath, evictText, previewBlock } from './evict-text.js';

/** Options for large texts that are written to the workspace. */
export const evictionConfigSchema = z
  .strictObject({
    /**
     * UTF-16 units of text above which a tool's result is evicted. 0 turns this off. Default: a quarter of the model's
     * window.
     */
    maxResultChars: z.optional(countSchema),
    /** UTF-16 units above which a user's message is evicted. Shorter messages are evicted only if they do not fit the window. 0: never. */
    maxUserChars: z._default(countSchema, 200_000),
    /** UTF-16 units of the head, and of the tail, that stay in the conversation. */
    previewChars: z._default(countSchema, 2_000),
    /** Directory in the workspace. */
    evictionPath: z
      .string()
      .min(1)
      .refine(
        (path) => !path.split(/[\\/]/).includes('..') && !path.includes('\0'),
        'must be in the workspace',
      )
      .refine(
        (path) => !/(?:^|[\\/])(?:tenants|users|agents)(?:[\\/]|$)|^[\\/]*files(?:[\\/]|$)/.test(path),
        'must not contain a folder named tenants, users or agents, or begin with files, because these names mark the owner of a file',
      )
      .default('/large_tool_results'),
    /** Tools whose results are never evicted. A name may end in `*`. Results of `paged` tools are never evicted. */
    excludeTools: z.array(z.string().min(1)).default([]),
  })
  .superRefine(({ maxResultChars, maxUserChars, previewChars }, context) => {
    for (const [name, limit] of Object.entries({ maxResultChars, maxUserChars })) {
      if (!limit || previewChars * 2 < limit) continue;
      const message = `head and tail together must be shorter than ${name}`;
      context.addIssue({ code: 'custom', path: ['previewChars'], message });
    }
  });

/** Options of `toolResultEviction`. */
export type EvictionConfig = z.input<typeof evictionConfigSchema>;
type ResolvedEvictionConfig = z.output<typeof evictionConfigSchema>;

const NAME = 'tool_result_eviction';
/** The share of the window above which a result is evicted if `maxResultChars` is not set. */
const RESULT_SHARE = 0.25;
const meter = new Meter(estimateCounter);

const UNREADABLE =
  'Evicted results point to a file, but the agent has no tool that reads parts of files, so the model sees only their beginning and end. ' +
  'Add workspaceTools() of @x/harness, or your own read_file tool with `paged: true`.';

/**
 * Writes the text of a large tool result to the workspace when the tool returns, before tokens are counted. The conversation keeps its
 * size, head and tail, and the path for `read_file`, and so does the log. Before a model call, the capability also evicts very long user
 * messages, and the largest new results and user messages if they do not fit the window together, or if the provider rejects the request
 * as too long. The log keeps these in full. Files, other blocks and the results of `paged` tools are not evicted. If the write fails, the
 * text stays in the conversation. Add this capability before `compaction()`.
 *
 * @example
 * const agent = HarnessAgent.builder()
 *   .name('coder')
 *   .model(model)
 *   .use(workspaceTools(), toolResultEviction({ maxResultChars: 40_000 }), compaction())
 *   .build();
 *
 * @throws {InvalidInputError} naming every invalid key.
 */
export function toolResultEviction(config: EvictionConfig = {}): Capability {
  const settings = parseWith(evictionConfigSchema, config, 'toolResultEviction configuration');
  const { maxResultChars, excludeTools } = settings;
  const settled = new WeakSet<Message>();
  const paged = new Set<string>();
  let unreadable = false;

  const stays = (name: string) => paged.has(name) || matchesTool(excludeTools, name);
  const warnUnreadable = (scope: Pick<ReasonScope, 'emit'>) => {
    if (unreadable) scope.emit({ type: 'warning', source: NAME, message: UNREADABLE });
    unreadable = false;
  };

  return {
    name: NAME,
    before: ['compaction'],
    install({ tools }) {
      unreadable = !tools.some((tool) => tool.paged && tool.definition.name === 'read_file');
    },
    async aroundReason(scope, next) {
      if (await evictNew(scope, settings, stays, settled)) warnUnreadable(scope);
      try {
        return await next();
      } catch (error) {
        // The window of the model is smaller than assumed, and a compaction keeps the newest messages.
        const isTooLong = isContextOverflow(error) && !scope.signal.aborted;
        if (!isTooLong || !(await evictNew(scope, settings, stays, settled, shareThatFits(error))))
          throw error;
        warnUnreadable(scope);
        return next();
      }
    },
    async aroundTool(call, scope, next) {
      if (scope.tool?.paged) paged.add(call.name);
      else paged.delete(call.name);
      const result = await next(call);
      if (stays(call.name)) return result;
      const text = textOf(result.output);
      if (!isTooLong(text, maxResultChars, scope)) return result;
      try {
        const path = await evictText(scope, settings, text);
        scope.emit({ type: 'tool.evicted', toolUseId: result.toolUseId, path, chars: text.length });
        warnUnreadable(scope);
        const block = await previewBlock(
          `The result of ${result.toolName}`,
          text,
          path,
          settings.previewChars,
          result,
        );
        return { ...result, output: [block, ...result.output.filter((part) => part.type !== 'text')] };
      } catch (error) {
        warnWhole(scope, `A result of ${call.name}`, text, error);
        return result;
      }
    },
  };
}

function isTooLong(text: string, maxResultChars: number | undefined, scope: ToolScope): boolean {
  if (maxResultChars !== undefined) return maxResultChars > 0 && text.length > maxResultChars;
  const most = windowOf(scope) * RESULT_SHARE;
  // No text has more than two tokens per UTF-16 unit, so short texts need no count. Long texts are counted up to the limit.
  return text.length * 2 > most && countUpTo(estimateCounter, text, most) > most;
}

/** Returns the share of a rejected request that fits the provider's window; half if the error does not have both sizes. */
function shareThatFits(error: unknown): number {
  const { inputTokens, contextWindow } = overflowFigures(error);
  return inputTokens && contextWindow ? Math.min(1, contextWindow / inputTokens) : 1 / 2;
}

function windowOf({ model }: Pick<ToolScope, 'model'>): number {
  return model.contextWindow ?? FALLBACK_CONTEXT_WINDOW;
}

function warnWhole(scope: Pick<ReasonScope, 'emit'>, what: string, text: string, error: unknown): void {
  const message = `${what} (${text.length} characters) could not be evicted and stays in the conversation: ${errorLine(error)}`;
  scope.emit({ type: 'warning', source: NAME, message });
}

/**
 * Evicts user messages that are too long. If the texts that the model has not seen do not fit the window together, evicts the largest of
 * them. Each text is first written to the log and the workspace in full. If that fails, the text stays in the conversation.
 *
 * @param settled Messages whose length was already checked. The function adds to it.
 * @param share The share of the request that fits the window. Default: the model's window decides.
 * @returns `true` if a text was evicted.
 */
async function evictNew(
  scope: ReasonScope,
  settings: ResolvedEvictionConfig,
  stays: (tool: string) => boolean,
  settled: WeakSet<Message>,
  share?: number,
): Promise<boolean> {
  const { maxUserChars, maxResultChars } = settings;
  const context = [...scope.state.context];
  const fresh = context.findLastIndex(({ role }) => role === 'assistant') + 1;
  const cap = await capOfNew(scope, context, fresh, share);
  let evicted = false;
  for (const [index, message] of context.entries()) {
    const isNew = cap !== undefined && index >= fresh;
    if (!isNew && settled.has(message)) continue;
    settled.add(message);
    let by: Message | undefined;
    if (isRequest(message)) {
      const isTooLong = textOfUser(message).length > maxUserChars || (isNew && userTokens(message) > cap);
      if (maxUserChars > 0 && isTooLong) by = await evictedRequest(scope, settings, message);
    } else if (isNew && maxResultChars !== 0) by = await evictedResults(scope, settings, message, cap, stays);
    if (by === undefined || !replace(scope, message, by)) continue;
    settled.add(by);
    evicted = true;
  }
  return evicted;
}

/** Finds how many tokens each new text may have, so that all of them fit the window; `undefined` if they fit unchanged. */
async function capOfNew(
  scope: ReasonScope,
  context: readonly Message[],
  fresh: number,
  share: number | undefined,
): Promise<number | undefined> {
  const added = context.slice(fresh);
  await inPieces(countWork(estimateCounter, context), scope.signal);
  const window =
    share === undefined ? windowOf(scope) : share * (meter.frame(scope) + meter.messages(context));
  // Most steps add little, so the whole conversation is counted only if the new texts are large.
  if (meter.messages(added) < window * RESULT_SHARE) return undefined;
  const frame = meter.frame(scope);
  const rules = context.slice(0, fresh).filter(({ role }) => role === 'system');
  const sizes = added.flatMap((message) =>
    isRequest(message)
      ? [userTokens(message)]
      : toolResultsOf(message).map((block) => tokensOf(block, meter)),
  );
  const staying = frame + meter.messages(rules) + meter.messages(added);
  return fairShare(sizes, staying, frame + meter.messages(context), mostTokensOf(window));
}

function isRequest({ role, kind }: Message): boolean {
  return role === 'user' && kind === undefined;
}

function textOfUser({ content }: Message): string {
  return textOf(content.filter((block) => block.type === 'text'));
}

function userTokens(message: Message): number {
  return meter.text(textOfUser(message));
}

/** Cuts the results of a message that have more than `cap` tokens. */
async function evictedResults(
  scope: ReasonScope,
  settings: ResolvedEvictionConfig,
  message: Message,
  cap: number,
  stays: (tool: string) => boolean,
): Promise<Message | undefined> {
  const paths = new Map<string, string>();
  for (const block of toolResultsOf(message)) {
    const text = textOf(block.output);
    if (stays(block.toolName) || evictedPath(block) || text === '' || tokensOf(block, meter) <= cap) continue;
    try {
      await scope.log.append([message]);
      const path = await evictText(scope, settings, text);
      paths.set(block.toolUseId, path);
      scope.emit({ type: 'tool.evicted', toolUseId: block.toolUseId, path, chars: text.length });
    } catch (error) {
      warnWhole(scope, `A result of ${block.toolName}`, text, error);
    }
  }
  if (paths.size === 0) return undefined;
  return inPieces(
    cutMessage(message, cap, meter, ({ toolUseId }) => fileOf(paths.get(toolUseId))),
    scope.signal,
  );
}

/** Makes a copy of a user message with a preview instead of its text. */
async function evictedRequest(
  scope: ReasonScope,
  settings: ResolvedEvictionConfig,
  message: Message,
): Promise<Message | undefined> {
  const text = textOfUser(message);
  try {
    await scope.log.append([message]);
    const path = await evictText(scope, settings, text);
    const block = await previewBlock('This message of the user', text, path, settings.previewChars);
    scope.emit({ type: 'message.evicted', messageId: message.id, path, chars: text.length });
    return { ...message, content: [block, ...message.content.filter(({ type }) => type !== 'text')] };
  } catch (error) {
    warnWhole(scope, 'A message of the user', text, error);
    return undefined;
  }
}

/** Replaces a message in the conversation, unless a hook has rewritten the conversation in the meantime. */
function replace({ state }: ReasonScope, message: Message, by: Message): boolean {
  const context = state.contextMutable();
  const index = context.lastIndexOf(message);
  if (index >= 0) context[index] = by;
  return index >= 0;
}
