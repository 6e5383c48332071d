import { type ModelRequest, XError } from '@x/core';
import { describeRequest } from './describe-request.js';

/** A scripted model was called although its script holds no answer to that request. */
export class UnexpectedModelCallError extends XError {
  static override readonly brand = 'UnexpectedModelCallError';
  readonly modelId: string;
  readonly request: ModelRequest;
  /** Which call of the model it was, from 1. */
  readonly call: number;

  constructor(details: { modelId: string; request: ModelRequest; call: number; left: string }) {
    const { modelId, request, call, left } = details;
    super(
      'unexpected_model_call',
      `Model ${modelId} was called for the ${ordinal(call)} time and its script has no answer (left: ${left}). Add an ` +
        `entry for this request, or find out why it was made:\n  ${describeRequest(request)}`,
    );
    this.modelId = modelId;
    this.request = request;
    this.call = call;
  }
}

function ordinal(number: number): string {
  const suffixes: Record<string, string> = { one: 'st', two: 'nd', few: 'rd' };
  return `${number}${suffixes[new Intl.PluralRules('en', { type: 'ordinal' }).select(number)] ?? 'th'}`;
}
