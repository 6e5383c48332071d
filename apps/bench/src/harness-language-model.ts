import { ANSWER, type Conversation, TOOL } from './harness-conversation.js';

const USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
} as const;

/** A model as the AI SDK's providers are, of its line 6 (`v3`) or 7 (`v4`), which are the same here. */
export function instantLanguageModel(conversation: Conversation, specificationVersion: 'v3' | 'v4') {
  return {
    specificationVersion,
    provider: 'instant',
    modelId: 'instant',
    supportedUrls: {},
    async doGenerate({ prompt }: { readonly prompt: readonly unknown[] }) {
      const call = conversation.next(prompt);
      const content =
        call === undefined
          ? [{ type: 'text', text: ANSWER }]
          : [
              {
                type: 'tool-call',
                toolCallId: call.id,
                toolName: TOOL.name,
                input: JSON.stringify({ at: call.at }),
              },
            ];
      const unified = call === undefined ? 'stop' : 'tool-calls';
      return { content, finishReason: { unified, raw: unified }, usage: USAGE, warnings: [] };
    },
    doStream: () => Promise.reject(new Error('not used')),
  };
}
