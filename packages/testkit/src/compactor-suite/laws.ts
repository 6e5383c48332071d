import { type CompactionOutcome, type Message, textOf, toolResultsOf, toolUsesOf } from '@x/core';

// The assertions throw directly, because an `expect` for each of thousands of messages would take longer than the compaction.

/** Asserts that every tool result directly follows its call, and every call has its result, except for open calls at the end. */
export function assertPaired(messages: readonly Message[]): void {
  const lastAssistant = messages.findLastIndex((message) => message.role === 'assistant');
  let waiting = new Set<string>();
  messages.forEach((message, index) => {
    const results = toolResultsOf(message);
    if (results.length === 0 && waiting.size > 0 && index <= lastAssistant) {
      throw new Error(`Tool calls without a result directly after them: ${[...waiting].join(', ')}.`);
    }
    for (const { toolUseId } of results) {
      if (!waiting.delete(toolUseId)) throw new Error(`Tool result ${toolUseId} does not follow its call.`);
    }
    const calls = toolUsesOf(message);
    if (calls.length > 0) waiting = new Set(calls.map((call) => call.id));
  });
}

/** Asserts that every message is unchanged in the result, or has exactly one entry in the manifest. */
export function assertAccounted(before: readonly Message[], outcome: CompactionOutcome): void {
  const staying = new Map(outcome.messages.map((message) => [message.id, JSON.stringify(message)]));
  const accounted = new Set(outcome.manifest.map((entry) => entry.messageId));
  if (accounted.size !== outcome.manifest.length) {
    throw new Error('The manifest has two entries for the same message.');
  }
  for (const message of before) {
    const same = staying.get(message.id) === JSON.stringify(message);
    if (same !== accounted.has(message.id)) continue;
    throw new Error(
      same
        ? `Message ${message.id} is unchanged, but the manifest has an entry for it.`
        : `Message ${message.id} was removed or changed, but the manifest has no entry for it.`,
    );
  }
}

/** Asserts that no text contains half of a surrogate pair. */
export function assertWellFormed(messages: readonly Message[]): void {
  for (const message of messages) {
    // JSON escapes a lone surrogate. A backslash before the escape means that the text itself reads like an escape.
    if (/(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/.test(JSON.stringify(message.content))) {
      throw new Error(
        `Message ${message.id} contains half of a surrogate pair: a text was cut inside a character.`,
      );
    }
  }
}

/** Asserts that the counts match the lists, there is a reason, and an applied outcome is smaller than the input. */
export function assertReport(before: readonly Message[], outcome: CompactionOutcome): void {
  const {
    status,
    message: reason,
    messages,
    messagesBefore,
    messagesAfter,
    tokensBefore,
    tokensAfter,
  } = outcome;
  if (messagesBefore !== before.length)
    throw new Error(`messagesBefore is ${messagesBefore}, but the input has ${before.length} messages.`);
  if (messagesAfter !== messages.length)
    throw new Error(`messagesAfter is ${messagesAfter}, but the result has ${messages.length} messages.`);
  if (reason.trim() === '') throw new Error('The reason of the outcome must not be empty.');
  if (status === 'applied' && tokensAfter >= tokensBefore && messagesAfter >= messagesBefore) {
    throw new Error('The status is applied, but neither tokens nor messages became fewer.');
  }
}

/** Asserts that an outcome that was not applied returns the same array. */
export function assertUntouched(before: readonly Message[], outcome: CompactionOutcome): void {
  if (outcome.status !== 'applied' && outcome.messages !== before) {
    throw new Error(
      `The status is ${outcome.status}, but the outcome does not return the input array itself.`,
    );
  }
}

/** Asserts that the latest request and the calls without results are in the result, unchanged. */
export function assertCurrent(before: readonly Message[], outcome: CompactionOutcome): void {
  const request = before.findLast((message) => message.role === 'user' && message.kind === undefined);
  const last = before.at(-1);
  const open = last !== undefined && toolUsesOf(last).length > 0 ? [last] : [];
  for (const message of [...(request ? [request] : []), ...open]) {
    const there = outcome.messages.some(
      ({ id, content }) => id === message.id && JSON.stringify(content) === JSON.stringify(message.content),
    );
    if (!there)
      throw new Error(
        `Message ${message.id} must stay unchanged, because it is the latest request or has open calls: ${textOf(message).slice(0, 80)}`,
      );
  }
}
