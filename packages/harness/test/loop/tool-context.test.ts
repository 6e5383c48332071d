import {
  ApprovalRequiredError,
  defineTool,
  InMemorySession,
  RuntimeContext,
  type ToolContext,
} from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

it('names a tool call by one key whenever it is run, and fences each run by its lease', async () => {
  const context = RuntimeContext.of({ sessionId: 's' });
  const runs: Pick<ToolContext, 'idempotencyKey' | 'fence'>[] = [];
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: { type: 'object' },
    execute(_, { idempotencyKey, fence, decisions }) {
      runs.push({ idempotencyKey, fence });
      if (decisions === undefined && runs.length === 1) {
        const transfer = { type: 'tool_use', id: 'transfer', name: 'transfer', input: {} } as const;
        throw new ApprovalRequiredError([
          { ...transfer, approvalId: 'bank', askedAt: new Date().toISOString() },
        ]);
      }
      return 'paid';
    },
  });
  const [session, workspace] = [new InMemorySession(), scratch()];
  // Some models count their calls from 1 in every answer.
  const toolCalls = [{ id: 'call-1', name: 'pay', input: {} }];
  const node = (script: ConstructorParameters<typeof ScriptedModel>[0]) =>
    HarnessAgent.builder()
      .model(new ScriptedModel(script))
      .session(session)
      .workspace(workspace)
      .tools(pay)
      .build();

  const reply = await node([{ toolCalls }]).call('Pay', context);
  expect(reply.stopReason).toBe('permission_required');
  const next = node([{ toolCalls }, { text: 'Paid twice.' }]);
  await next.resume(context, { decisions: { bank: { type: 'approve' } } });

  const [first, again, another] = runs;
  expect(runs).toHaveLength(3);
  expect(first?.idempotencyKey).toMatch(/^[0-9a-f]{64}$/);
  expect(again?.idempotencyKey).toBe(first?.idempotencyKey);
  expect(another?.idempotencyKey).not.toBe(first?.idempotencyKey);
  expect(again?.fence).toBeGreaterThan(first?.fence ?? Number.POSITIVE_INFINITY);
  expect(another?.fence).toBe(again?.fence);
});
