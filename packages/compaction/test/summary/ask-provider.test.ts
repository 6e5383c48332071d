import { type Message, ModelError, userMessage } from '@x/core';
import type { NativeCompactionRequest } from '@x/core/messages';
import { expect, it } from 'vitest';
import { askProvider } from '../../src/summary/ask-provider.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

const made = { type: 'opaque', provider: 'acme', data: 'sealed', tokens: 9 } as const;

/** A summary as a compaction by `modelId` left it, then a new request. */
function conversation(modelId: string): readonly Message[] {
  const record = { type: 'text', text: 'The record' } as const;
  const carried = { type: 'text', text: 'Todos' } as const;
  const summary = userMessage([record, made, carried], { kind: 'summary', metadata: { modelId } });
  return [summary, userMessage('Go on')];
}

async function asked(modelId: string, refuses: boolean) {
  const requests: NativeCompactionRequest[] = [];
  const model = modelOf(() => GOOD_SUMMARY, {
    compact: async (request: NativeCompactionRequest) => {
      requests.push(request);
      const isSealed = request.messages[0]?.content[0]?.type === 'opaque';
      if (!refuses || !isSealed) return { content: [made] };
      const cause = {
        statusCode: 400,
        data: { error: { code: 'invalid_encrypted_content', message: 'No' } },
      };
      throw new ModelError('No', { status: 400, cause });
    },
  });
  const messages = conversation(modelId === 'own' ? model.id : modelId);
  const answer = await askProvider(model, { messages, tools: [], instructions: 'the paths' }, 0);
  const sent = requests.map((request) => request.messages[0]?.content.map(({ type }) => type));
  expect(requests.map(({ instructions }) => instructions)).toEqual(requests.map(() => 'the paths'));
  return { answer, sent };
}

it('sends the provider its own item alone, and everybody else’s record', async () => {
  expect((await asked('own', false)).sent).toEqual([['opaque']]);
  expect((await asked('another', false)).sent).toEqual([['text', 'text']]);
});

it('asks again with the record when the item is refused, and says so', async () => {
  const { sent, answer } = await asked('own', true);
  expect(sent).toEqual([['opaque'], ['text', 'text']]);
  expect(answer.note).toContain('could not read its earlier compaction');
});

it('asks again at once where the request was refused', async () => {
  let asked = 0;
  const compact = async () => {
    asked++;
    throw new ModelError('Bad', { status: 400 });
  };
  const model = modelOf(() => GOOD_SUMMARY, { compact });
  const ask = () => askProvider(model, { messages: conversation('another'), tools: [] }, 0);
  await expect(ask()).rejects.toThrow('Bad');
  await expect(ask()).rejects.toThrow('Bad');
  expect(asked).toBe(2);
});

it('asks again after a pause where the failure may pass', async () => {
  let asked = 0;
  const compact = async () => {
    if (++asked < 3) throw new ModelError('Busy', { status: 503, retryable: true, retryAfterMs: 1 });
    return { content: [made] };
  };
  const model = modelOf(() => GOOD_SUMMARY, { compact });
  const answer = await askProvider(model, { messages: conversation(model.id), tools: [] }, 0);
  expect(answer.content).toEqual([made]);
  expect(asked).toBe(3);
});

it('waits for no provider that never answers', async () => {
  const signals: (AbortSignal | undefined)[] = [];
  const compact = ({ signal }: { signal?: AbortSignal | undefined }) => {
    signals.push(signal);
    return new Promise<never>(() => {});
  };
  const model = modelOf(() => GOOD_SUMMARY, { compact });
  const asking = askProvider(model, { messages: conversation('another'), tools: [] }, 10);
  await expect(asking).rejects.toThrow('timed out after 10 ms (summary.timeoutMs; 0 for no limit)');
  expect(signals.map((signal) => signal?.aborted)).toEqual([true]);
});
