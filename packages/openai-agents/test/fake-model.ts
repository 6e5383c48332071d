import type { AgentInputItem, AgentOutputItem, Model, ModelRequest, ModelResponse } from '@openai/agents';
import { setTracingDisabled, Usage } from '@openai/agents';

setTracingDisabled(true);

/** A model of the Agents SDK that gives the answers in their order, and remembers what it was sent. */
export class FakeModel implements Model {
  readonly inputs: AgentInputItem[][] = [];
  readonly #answers: (readonly AgentOutputItem[])[];

  constructor(...answers: readonly (readonly AgentOutputItem[])[]) {
    this.#answers = [...answers];
  }

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    this.inputs.push(structuredClone(typeof input === 'string' ? [user(input)] : input));
    const output = this.#answers.shift();
    if (output === undefined) throw new Error('The fake model has no more answers.');
    return {
      usage: new Usage({ inputTokens: 1, outputTokens: 1 }),
      output: [...output],
      responseId: 'resp-1',
    };
  }

  getStreamedResponse(): never {
    throw new Error('The fake model does not stream.');
  }
}

export function user(text: string): AgentInputItem {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}

export function said(text: string): AgentOutputItem & AgentInputItem {
  return {
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text }],
  };
}

export function called(callId: string, name: string, input: object): AgentOutputItem & AgentInputItem {
  return { type: 'function_call', callId, name, status: 'completed', arguments: JSON.stringify(input) };
}

export function answered(callId: string, name: string, text: string): AgentInputItem {
  return { type: 'function_call_result', callId, name, status: 'completed', output: { type: 'text', text } };
}
