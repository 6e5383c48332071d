import * as z from 'zod/mini';
import { truncateArgs } from '../../stages/truncate-args.js';
import type { PresetSettings } from '../groups.js';
import { countSchema, wordsSchema } from '../values.js';

/** AgentScope's defaults: the number of messages that it keeps, and the tokens at which it reduces. */
const KEPT = 20;
const DUE_TOKENS = 80_000;

/** Keys of AgentScope's `CompactionConfig`, with its defaults; 0 turns a trigger off. */
export const agentscopeShape = {
  /** A compaction is due at this many messages. */
  triggerMessages: z._default(countSchema, 50),
  /** A compaction is due at this many tokens. Default 80 000, or the window if that is smaller. */
  triggerTokens: z.optional(countSchema),
  /** Newest messages that stay unchanged. Default 20, or fewer if `triggerMessages` is 20 or less. */
  keepMessages: z.optional(countSchema),
  /** If not 0: newest tokens that stay unchanged, instead of `keepMessages`. */
  keepTokens: z._default(countSchema, 0),
  /** Replaces the instructions to the model; `{messages}` inserts the conversation. */
  summaryPrompt: z.nullish(wordsSchema),
  /** Cuts long string arguments of old tool calls. Default: none are cut; `null` means the same. */
  truncateArgs: z._default(
    z.union([
      z.literal(false),
      z.null(),
      z.strictObject({
        triggerMessages: z._default(countSchema, 25),
        triggerTokens: z._default(countSchema, 40_000),
        keepMessages: z._default(countSchema, 20),
        keepTokens: z._default(countSchema, 0),
        maxArgLength: z._default(countSchema, 2_000),
        truncationText: z._default(z.string().check(z.minLength(1)), '... [truncated] ...'),
      }),
    ]),
    false,
  ),
};

/** By key of the grouped configuration: AgentScope's name for it. */
export const agentscopeNames: Readonly<Record<string, string>> = {
  'keep.messages': 'keepMessages',
  'keep.tokens': 'keepTokens',
  'trigger.messages': 'triggerMessages',
  'trigger.tokens': 'triggerTokens',
  'summary.prompt': 'summaryPrompt',
};

/** Maps AgentScope's keys onto groups and stages. */
export function fromAgentscope(
  config: z.output<z.ZodMiniObject<typeof agentscopeShape>> & { readonly contextWindow?: number | undefined },
): PresetSettings {
  const { triggerMessages, keepTokens, summaryPrompt, truncateArgs: args } = config;
  const { contextWindow = DUE_TOKENS, triggerTokens = Math.min(DUE_TOKENS, contextWindow) } = config;
  const kept = triggerMessages > 0 && triggerMessages <= KEPT ? Math.floor(triggerMessages / 2) : KEPT;
  return {
    trigger: { messages: triggerMessages, tokens: triggerTokens },
    keep: keepTokens > 0 ? { tokens: keepTokens } : { messages: config.keepMessages ?? kept },
    summary: { prompt: summaryPrompt ?? undefined },
    stages: ['cut_unseen', ...(args ? [truncateArgs(args)] : []), 'summarize', 'drop_oldest'],
  };
}
