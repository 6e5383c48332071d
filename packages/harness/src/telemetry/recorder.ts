import type { Attributes, Tracer } from '@opentelemetry/api';
import type { CallScope, Model } from '@x/core';
import { CallTraces } from './call-trace.js';
import { ATTRIBUTE, OPERATION } from './conventions.js';
import type { Instruments } from './instruments.js';
import { modelNames } from './model-names.js';

/** What the parts of this capability share. */
export interface Recorder {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  readonly traces: CallTraces;
  readonly captureContent: boolean;
  readonly provider: string | undefined;
}

export function createRecorder(parts: Omit<Recorder, 'traces'>): Recorder {
  return { ...parts, traces: new CallTraces() };
}

/** What every measurement of a model has in common. */
export function modelAttributes(recorder: Recorder, model: Pick<Model, 'id'>, operation: string): Attributes {
  const names = modelNames(model.id);
  return {
    [ATTRIBUTE.operation]: operation,
    [ATTRIBUTE.provider]: recorder.provider ?? names.provider,
    [ATTRIBUTE.requestModel]: names.model,
  };
}

/** What every span of a call says of the call. */
export function callAttributes(scope: CallScope): Attributes {
  return {
    [ATTRIBUTE.agentName]: scope.agentId,
    [ATTRIBUTE.conversationId]: scope.state.sessionId,
  };
}

/** What an agent call's measurements have in common. */
export function agentAttributes(recorder: Recorder, scope: CallScope): Attributes {
  return {
    ...modelAttributes(recorder, scope.model, OPERATION.invokeAgent),
    [ATTRIBUTE.agentName]: scope.agentId,
  };
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}
