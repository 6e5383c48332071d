import { type MessageFate, toolUsesOf } from '@x/core';
import type { ReferenceResult as ProbeResult } from '@x/replay';
import { contextText } from '@x/replay';
import type { ReplayedConversation } from './run-replay.js';

export type TokenForm = 'path' | 'file name' | 'hash' | 'number' | 'id' | 'identifier';
export type MentionPlace = 'tool output' | 'tool input' | 'assistant text' | 'user text';

/** A probe whose token was gone, and what is known of it. */
export interface Miss {
  readonly conversation: string;
  readonly domain: string;
  readonly probe: ProbeResult;
  readonly form: TokenForm;
  readonly place: MentionPlace;
  /** What became of the message of the last mention; `none` when it had nothing left to become of. */
  readonly fate: MessageFate | 'none';
  /** Messages up to the last mention that hold the token. */
  readonly mentions: number;
}

/** The probes that a strategy lost. */
export function missesOf(conversations: readonly ReplayedConversation[], strategy: string): readonly Miss[] {
  return conversations.flatMap(({ recording, byStrategy }) =>
    (byStrategy[strategy]?.references ?? [])
      .filter((probe) => !probe.retained)
      .map((probe) => {
        const earlier = recording.messages.slice(0, probe.lastIndex + 1);
        return {
          conversation: recording.name,
          domain: recording.domain,
          probe,
          form: formOf(probe.token),
          place: placeOf(recording, probe),
          fate: probe.fate ?? 'none',
          mentions: earlier.filter((message) => contextText(message).includes(probe.token)).length,
        };
      }),
  );
}

/** What a token looks like, which is what decides whether a ledger recognizes it. */
export function formOf(token: string): TokenForm {
  if (token.includes('/') || token.includes('\\')) return 'path';
  if (/^\d+$/.test(token)) return 'number';
  if (/^[0-9a-f]{7,64}$/i.test(token) && /\d/.test(token)) return 'hash';
  if (/^[\w@.+-]+\.[A-Za-z][A-Za-z0-9]{0,5}$/.test(token)) return 'file name';
  return /\d/.test(token) && /-/.test(token) ? 'id' : 'identifier';
}

function placeOf({ messages }: ReplayedConversation['recording'], probe: ProbeResult): MentionPlace {
  const message = messages[probe.lastIndex];
  if (message?.role === 'tool') return 'tool output';
  if (message?.role !== 'assistant') return 'user text';
  const inInput = toolUsesOf(message).some(({ input }) => JSON.stringify(input).includes(probe.token));
  return inInput ? 'tool input' : 'assistant text';
}
