import { type ModelRequest, XError } from '@x/core';
import { describeRequest } from './describe-request.js';

/**
 * A scripted model got fewer requests than its script has replies for.
 *
 * @code incomplete_script The script of a `ScriptedModel` has replies that were not requested. Do: Remove these replies, or find out why the calls
 * were not made.
 */
export class IncompleteScriptError extends XError {
  static override readonly brand = 'IncompleteScriptError';
  readonly modelId: string;
  /** The number of replies that were not requested. */
  readonly remaining: number;

  constructor(details: { modelId: string; remaining: number; left: string; calls: number }) {
    const { modelId, remaining, left, calls } = details;
    super(
      'incomplete_script',
      `Model ${modelId} was called ${calls} time${calls === 1 ? '' : 's'}, and ${remaining} of its scripted replies ` +
        `were not requested (${left}). Remove them from the script, or find out why the calls were not made.`,
    );
    this.modelId = modelId;
    this.remaining = remaining;
  }
}

/**
 * A scripted model got a request for which its script has no reply.
 *
 * @code unexpected_model_call A `ScriptedModel` has no reply for a request. Do: Add a reply to the script, or find out why the call was made.
 */
export class UnexpectedModelCallError extends XError {
  static override readonly brand = 'UnexpectedModelCallError';
  readonly modelId: string;
  readonly request: ModelRequest;
  /** The number of the call, from 1. */
  readonly call: number;

  constructor(details: { modelId: string; request: ModelRequest; call: number; left: string }) {
    const { modelId, request, call, left } = details;
    super(
      'unexpected_model_call',
      `Model ${modelId} was called for the ${ordinal(call)} time, but its script has no reply to this request ` +
        `(left: ${left}). Add an entry to the script, or find out why the call was made:\n  ${describeRequest(request)}`,
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
