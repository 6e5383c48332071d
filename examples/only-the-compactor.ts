// Only the compactor: no harness, no model, no network. The record is the summary.
import { createCompactor } from '@x/compaction';
import { assistantMessage, type Message, textOf, toolResultMessage, userMessage } from '@x/core';

const messages: Message[] = [userMessage('Find out why the build of packages/api is slow')];
for (let part = 0; part < 60; part++) {
  const call = {
    type: 'tool_use',
    id: `call-${part}`,
    name: 'read_file',
    input: { path: `packages/api/src/part-${part}.ts` },
  } as const;
  const answer = `export const value${part} = ${part};\n`.repeat(60);
  messages.push(assistantMessage([call]), toolResultMessage(call, answer));
}
messages.push(assistantMessage('I decided to look at part-7 next, because it imports everything.'));
messages.push(userMessage('Go on'));

const compactor = createCompactor({ contextWindow: 12_000, keep: { tokens: 2_000 } });
const outcome = await compactor.compact(messages, { reason: 'manual', instructions: 'Keep the paths' });

console.log(`${outcome.status}: ${outcome.messagesBefore} → ${outcome.messagesAfter} messages`);
console.log(
  `${outcome.tokensBefore} → ${outcome.tokensAfter} tokens by ${outcome.steps.map((step) => step.stage)}`,
);
const summary = outcome.messages.find((message) => message.kind === 'summary');
console.log(summary ? textOf(summary) : 'There was no need for a summary.');

if (outcome.status !== 'applied') throw new Error(outcome.message);
