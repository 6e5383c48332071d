import { type CompactionOutcome, type Message, toolResultsOf, toolUsesOf } from '@x/core';

// Thrown by hand: an `expect` for each of thousands of messages takes longer than what it checks.

/** I1: calls and results are a bijection by id, results right behind their calls; only the last calls may be open. */
export function expectPaired(messages: readonly Message[]): void {
  const lastAssistant = messages.findLastIndex((message) => message.role === 'assistant');
  let waiting = new Set<string>();
  messages.forEach((message, index) => {
    const results = toolResultsOf(message);
    if (results.length === 0 && waiting.size > 0 && index <= lastAssistant) {
      throw new Error(`calls ${[...waiting]} have no result right behind them`);
    }
    for (const { toolUseId } of results) {
      if (!waiting.delete(toolUseId)) throw new Error(`result ${toolUseId} does not follow its call`);
    }
    const calls = toolUsesOf(message);
    if (calls.length > 0) waiting = new Set(calls.map((call) => call.id));
  });
}

/** I2: every message of before is there as it was, or else has exactly one entry in the manifest. */
export function expectCovered(before: readonly Message[], outcome: CompactionOutcome): void {
  const staying = new Set(outcome.messages);
  const accounted = new Set(outcome.manifest.map((entry) => entry.messageId));
  if (accounted.size !== outcome.manifest.length) throw new Error('a message has two fates');
  for (const message of before) {
    if (staying.has(message) === accounted.has(message.id)) {
      throw new Error(
        `message ${message.id} is ${staying.has(message) ? 'there and' : 'neither there nor'} accounted for`,
      );
    }
  }
}

/** I9: no cut has split a surrogate pair. */
export function expectWellFormed(messages: readonly Message[]): void {
  for (const message of messages) {
    const text = JSON.stringify(message.content);
    // JSON writes a lone surrogate as an escape; a backslash before it would make it the text of one.
    if (/(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]/.test(text))
      throw new Error(`message ${message.id} has a lone surrogate`);
  }
}
