import { type CompactionOutcome, type Message, textOf, toolResultsOf, toolUsesOf } from '@x/core';

// Thrown by hand: an `expect` for each of thousands of messages takes longer than what it checks.

/** Every result stands right behind its call, and every call has its results, but for open ones at the end. */
export function assertPaired(messages: readonly Message[]): void {
  const lastAssistant = messages.findLastIndex((message) => message.role === 'assistant');
  let waiting = new Set<string>();
  messages.forEach((message, index) => {
    const results = toolResultsOf(message);
    if (results.length === 0 && waiting.size > 0 && index <= lastAssistant) {
      throw new Error(`The calls ${[...waiting].join(', ')} have no result right behind them.`);
    }
    for (const { toolUseId } of results) {
      if (!waiting.delete(toolUseId)) throw new Error(`The result ${toolUseId} does not follow its call.`);
    }
    const calls = toolUsesOf(message);
    if (calls.length > 0) waiting = new Set(calls.map((call) => call.id));
  });
}

/** Every message is there as it was, or else has exactly one entry in the manifest. */
export function assertAccounted(before: readonly Message[], outcome: CompactionOutcome): void {
  const staying = new Map(outcome.messages.map((message) => [message.id, JSON.stringify(message)]));
  const accounted = new Set(outcome.manifest.map((entry) => entry.messageId));
  if (accounted.size !== outcome.manifest.length) throw new Error('A message has two fates.');
  for (const message of before) {
    const same = staying.get(message.id) === JSON.stringify(message);
    if (same !== accounted.has(message.id)) continue;
    throw new Error(
      `Message ${message.id} is ${same ? 'there and' : 'neither there as it was nor'} accounted for.`,
    );
  }
}

/** No cut has split a surrogate pair. */
export function assertWellFormed(messages: readonly Message[]): void {
  for (const message of messages) {
    // JSON writes a lone surrogate as an escape; a backslash before it would make it the text of one.
    if (/(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/.test(JSON.stringify(message.content))) {
      throw new Error(`Message ${message.id} has half a surrogate pair.`);
    }
  }
}

/** The figures are those of the lists, and an applied outcome is smaller than what was given. */
export function assertReport(before: readonly Message[], outcome: CompactionOutcome): void {
  const { status, reason, messages, messagesBefore, messagesAfter, tokensBefore, tokensAfter } = outcome;
  if (messagesBefore !== before.length) throw new Error(`messagesBefore is ${messagesBefore}.`);
  if (messagesAfter !== messages.length) throw new Error(`messagesAfter is ${messagesAfter}.`);
  if (reason.trim() === '') throw new Error('The outcome gives no reason.');
  if (status === 'applied' && tokensAfter >= tokensBefore && messagesAfter >= messagesBefore) {
    throw new Error('The outcome was applied although nothing became smaller.');
  }
}

/** Whoever changed nothing gives back the very list. */
export function assertUntouched(before: readonly Message[], outcome: CompactionOutcome): void {
  if (outcome.status !== 'applied' && outcome.messages !== before) {
    throw new Error(`The outcome is ${outcome.status}, yet the list is another one.`);
  }
}

/** The latest request, and the calls that wait for results, are there word for word. */
export function assertCurrent(before: readonly Message[], outcome: CompactionOutcome): void {
  const request = before.findLast((message) => message.role === 'user' && message.kind === undefined);
  const last = before.at(-1);
  const open = last !== undefined && toolUsesOf(last).length > 0 ? [last] : [];
  for (const message of [...(request ? [request] : []), ...open]) {
    const there = outcome.messages.some(
      ({ id, content }) => id === message.id && JSON.stringify(content) === JSON.stringify(message.content),
    );
    if (!there) throw new Error(`Message ${message.id} is needed as it is: ${textOf(message).slice(0, 80)}`);
  }
}
