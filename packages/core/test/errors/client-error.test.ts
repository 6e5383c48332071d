import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type AgentEvent,
  ContextOverflowError,
  httpStatusOf,
  InvalidInputError,
  ModelError,
  SessionConflictError,
  SessionLeaseError,
  SessionStoreError,
  toClientError,
  toClientEvent,
  WorkspaceError,
  XError,
} from '../../src/index.js';

const CANARY = 'canary-7f3a';

it.each([
  new Error(CANARY),
  Object.assign(new Error(CANARY), { code: CANARY }),
  CANARY,
  { code: CANARY, message: CANARY },
  undefined,
  null,
  0n,
  Symbol(CANARY),
  Object.assign(() => {}, { message: CANARY }),
  new Proxy({}, { get: () => fail(), has: () => fail(), getPrototypeOf: () => fail() }),
])('masks what is no error of ours: case %#', (thrown) => {
  expect(toClientError(thrown)).toEqual({ code: 'internal', message: 'An error occurred.' });
  expect(httpStatusOf(thrown)).toBe(500);
});

function fail(): never {
  throw new Error(CANARY);
}

it.each(['', ' \n'])('masks an error for which onError has no words: %j', (words) => {
  expect(toClientError(new Error(CANARY), () => words).message).toBe('An error occurred.');
});

it('gives of our own errors the code, and never their text', () => {
  const key = CANARY;
  const cause = new Error(CANARY);
  const errors = [
    new ModelError(CANARY, { cause, modelId: CANARY }),
    new ModelError(CANARY, { cause, retryable: true }),
    new ContextOverflowError(CANARY),
    new SessionStoreError('session_unavailable', CANARY, { sessionKey: key }),
    new SessionStoreError('session_corrupt', CANARY),
    new SessionConflictError({ sessionKey: key, expected: CANARY, actualVersion: 2 }),
    new SessionLeaseError('lease_unavailable', CANARY, { sessionKey: key }),
    new SessionLeaseError('lease_lost', CANARY, { sessionKey: key }),
    new WorkspaceError('not_found', CANARY, CANARY),
    new WorkspaceError('workspace_io', CANARY, CANARY),
    new InvalidInputError(CANARY, [{ path: CANARY, message: CANARY }]),
    new XError('mine', CANARY),
  ];
  const told = errors.map((error) => toClientError(error));
  expect(JSON.stringify(told)).not.toContain(CANARY);
  expect(told.map(({ code }) => code)).toEqual(errors.map(({ code }) => code));
  expect(told.map(({ message }) => message !== 'An error occurred.')).toEqual([
    ...[false, true, true, true, false, true, true, true, true, false, false, false],
  ]);
  expect(errors.map(httpStatusOf)).toEqual([502, 502, 413, 503, 500, 409, 409, 409, 404, 500, 400, 500]);
});

it('gives the words that an error was made with, or those of `onError`, which may fail', () => {
  const error = new XError('full', CANARY, { clientMessage: 'The plan is full.' });
  expect(toClientError(error)).toEqual({ code: 'full', message: 'The plan is full.' });
  expect(toClientError(error, (thrown) => (thrown as XError).code.toUpperCase()).message).toBe('FULL');
  for (const onError of [() => undefined, fail, async () => CANARY, () => 1])
    expect(toClientError(error, onError as never).message).toBe('The plan is full.');
});

const place = { seq: 1, sessionId: 's', agentId: 'a', callId: 'c', step: 1, at: '' };
const figures = {
  ...{ messagesBefore: 1, messagesAfter: 1, tokensBefore: 1, tokensAfter: 1, durationMs: 1 },
  stage: 'summarize',
};
const events: AgentEvent[] = [
  { ...place, type: 'call.failed', error: new Error(CANARY) },
  { ...place, type: 'model.retrying', attempt: 1, delayMs: 1, error: CANARY },
  { ...place, type: 'model.fallback', from: 'a', to: 'b', reason: 'auth', error: CANARY },
  { ...place, type: 'output.rejected', attempt: 1, error: CANARY },
  { ...place, type: 'memory.failed', operation: 'flush', error: CANARY },
  { ...place, type: 'warning', source: 'hooks', message: CANARY },
  {
    ...{ ...place, ...figures, type: 'context.compacted', reason: 'manual', status: 'failed' },
    ...{ message: CANARY, stagesUsed: '', manifest: [], steps: [{ ...figures, note: CANARY }] },
  },
];

it('leaves errors out of events, also out of those of subagents of subagents', () => {
  const nested = fc.nat(3).chain((depth) =>
    fc.constantFrom(...events).map((event) => {
      let outer = event;
      for (let level = 0; level < depth; level++)
        outer = { ...place, type: 'subagent.event', taskId: 't', subagent: 'x', event: outer };
      return outer;
    }),
  );
  fc.assert(
    fc.property(nested, (event) => {
      expect(JSON.stringify(toClientEvent(event))).not.toContain(CANARY);
    }),
  );
  const whole: AgentEvent = { ...place, type: 'text.delta', text: CANARY, messageId: 'm', draft: 1 };
  expect(toClientEvent(whole)).toBe(whole);
  expect(toClientEvent(events[5] as AgentEvent, (error) => (error as XError).message)).toMatchObject({
    message: CANARY,
  });
});
