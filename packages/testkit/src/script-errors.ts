import { type ModelRequest, XError } from '@x/core';
import { describeRequest } from './describe-request.js';

/** A scripted model was asked fewer times than its script says. */
export class IncompleteScriptError extends XError {
  static override readonly brand = 'IncompleteScriptError';
  readonly modelId: string;
  /** Replies that nobody asked for. */
  readonly remaining: number;

  constructor(details: { modelId: string; remaining: number; left: string; calls: number }) {
    const { modelId, remaining, left, calls } = details;
    super(
      'incomplete_script',
      `Model ${modelId} was called ${calls} time${calls === 1 ? '' : 's'} and ${remaining} of its scripted replies ` +
        `were never asked for (${left}). Remove them, or find out why the calls were not made.`,
    );
    this.modelId = modelId;
    this.remaining = remaining;
  }
}

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
