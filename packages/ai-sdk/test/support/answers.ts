import type { Answer } from './model-server.js';

type Json = Readonly<Record<string, unknown>> & { readonly type: string };

/** An answer of Anthropic's Messages API: its blocks, and what else is to differ from a plain one. */
export function anthropicAnswer(content: readonly object[], more: object = {}): Answer {
  const calls = content.some((block) => 'type' in block && block.type === 'tool_use');
  return {
    json: {
      type: 'message',
      id: 'msg_1',
      role: 'assistant',
      model: 'claude-sonnet-4-5',
      content,
      stop_reason: calls ? 'tool_use' : 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: 5 },
      ...more,
    },
  };
}

/** A text of OpenAI's Responses API. */
export const openaiText = (text: string, more: object = {}): Json => ({
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [] }],
  ...more,
});

/** An answer of OpenAI's Responses API: its items, and what else is to differ from a plain one. */
export function openaiAnswer(output: readonly object[], more: object = {}): Answer {
  return {
    json: {
      id: 'resp_1',
      object: 'response',
      created_at: 1,
      model: 'gpt-5',
      status: 'completed',
      error: null,
      incomplete_details: null,
      output,
      usage: { input_tokens: 5, output_tokens: 2, total_tokens: 7 },
      ...more,
    },
  };
}

/** The same answer of Anthropic as the API streams it: texts, thoughts and inputs in two halves. */
export function anthropicStream({ json }: Answer): Answer {
  const { content, usage, stop_reason, stop_sequence, ...rest } = json as Json & { content: readonly Json[] };
  const events: Json[] = content.flatMap((block, index): Json[] => {
    const { opened, deltas } = openedBlock(block);
    return [
      { type: 'content_block_start', index, content_block: opened },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ];
  });
  const all: Json[] = [
    { type: 'message_start', message: { ...rest, content: [], stop_reason: null, stop_sequence, usage } },
    ...events,
    { type: 'message_delta', delta: { stop_reason, stop_sequence }, usage },
    { type: 'message_stop' },
  ];
  return { events: all.map((event) => [event.type, event] as const) };
}

const halves = (text: string): readonly string[] => {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '');
};

function openedBlock(block: Json): { readonly opened: object; readonly deltas: readonly object[] } {
  const { type, text, thinking, signature, input } = block;
  if (type === 'text')
    return {
      opened: { type, text: '' },
      deltas: halves(String(text)).map((half) => ({ type: 'text_delta', text: half })),
    };
  if (type === 'thinking') {
    const deltas = halves(String(thinking)).map((half) => ({ type: 'thinking_delta', thinking: half }));
    return {
      opened: { type, thinking: '', signature: '' },
      deltas: [...deltas, { type: 'signature_delta', signature }],
    };
  }
  if (input === undefined) return { opened: block, deltas: [] };
  const deltas = halves(JSON.stringify(input)).map((partial_json) => ({
    type: 'input_json_delta',
    partial_json,
  }));
  return { opened: { ...block, input: {} }, deltas };
}

/** The same answer of OpenAI as the API streams it. */
export function openaiStream({ json }: Answer): Answer {
  const response = json as Json & { readonly output: readonly Json[] };
  const events = response.output.flatMap((item, output_index): Json[] => {
    const at = { item_id: item.id, output_index };
    return [
      { type: 'response.output_item.added', output_index, item: openedItem(item) },
      ...deltasOf(item).map((delta): Json => ({ ...at, ...delta })),
      { type: 'response.output_item.done', output_index, item },
    ];
  });
  const { id, created_at, model } = response;
  return {
    events: [
      { type: 'response.created', response: { id, created_at, model } },
      ...events,
      { type: 'response.completed', response: { ...response, output: undefined } },
    ],
  };
}

function openedItem(item: Json): object {
  if (item.type === 'message') return { ...item, status: 'in_progress', content: [] };
  if (item.type === 'function_call') return { ...item, status: 'in_progress', arguments: '' };
  return item.type === 'reasoning' ? { ...item, summary: [] } : { ...item, status: 'in_progress' };
}

function deltasOf({ type, content, summary, arguments: input }: Json): readonly Json[] {
  const [said] = (content ?? []) as readonly { readonly text: string }[];
  if (type === 'message' && said !== undefined)
    return halves(said.text).map((delta) => ({
      type: 'response.output_text.delta',
      content_index: 0,
      delta,
    }));
  if (type === 'function_call')
    return halves(String(input)).map((delta) => ({ type: 'response.function_call_arguments.delta', delta }));
  const thoughts = (type === 'reasoning' ? summary : []) as readonly { readonly text: string }[];
  return thoughts.flatMap(({ text }, summary_index): Json[] => [
    { type: 'response.reasoning_summary_part.added', summary_index },
    ...halves(text).map((delta) => ({ type: 'response.reasoning_summary_text.delta', summary_index, delta })),
    { type: 'response.reasoning_summary_part.done', summary_index },
  ]);
}
