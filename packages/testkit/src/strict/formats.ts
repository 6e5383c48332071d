import { isObject } from '@x/core/internal';
import {
  Calls,
  checkAddress,
  checkDepth,
  checkFile,
  checkGoogleSchema,
  checkParameters,
  checkPictures,
  checkSchema,
  checkText,
  checkTools,
  dataUrl,
  type Json,
  listOf,
  refuse,
} from './checks.js';

/** An answer of a model, independent of a protocol. */
export interface StrictAnswer {
  readonly text?: string;
  readonly calls?: readonly { readonly id: string; readonly name: string; readonly input: unknown }[];
  /** Files in the answer. Only Google's protocol has them. */
  readonly files?: readonly { readonly mimeType: string; readonly data: string }[];
}

/** The protocol of a provider: how it validates requests, and how it responds. */
export interface Format {
  /** Matches the end of its request URLs. */
  readonly path: RegExp;
  /** Rejects an invalid request as the provider does. */
  check(body: Json): void;
  answer(answer: StrictAnswer): object;
  /** Returns the stream events of the same answer. */
  events(answer: StrictAnswer): readonly object[];
  /** Returns the body of an error response. */
  errorBody(message: string, status: number): object;
}

const MB = 1_048_576;
const pictures = { takes: /^image\/(?:png|jpeg|gif|webp)$/, most: 5 * MB };
const pdf = { takes: /^application\/pdf$/, most: 32 * MB };
const openaiError = (message: string, status: number) => ({
  error: { message, type: status === 400 ? 'invalid_request_error' : 'server_error', code: null },
});
const usage = { input_tokens: 10, output_tokens: 5 };
/** Splits a text in the middle, even inside a character, as streams do. */
const halves = (text: string) => [text.slice(0, text.length >> 1), text.slice(text.length >> 1)];

const anthropic: Format = {
  path: /\/messages$/,
  check(body) {
    const calls = new Calls(/^[a-zA-Z0-9_-]+$/, /^[a-zA-Z0-9_-]{1,128}$/);
    const images: unknown[] = [];
    const part = ({ type, text, source }: Json, place: string) => {
      if (type === 'text') return checkText(text, place);
      if (type === 'image') images.push(Object(source).data);
      if (!isObject(source) || (type !== 'image' && type !== 'document'))
        return refuse(`${place}: unknown type ${type}`);
      if (source.type === 'text') return checkText(source.data, place);
      if (source.type === 'url') return checkAddress(source.url, place);
      checkFile(
        { mediaType: source.media_type, data: source.data },
        place,
        type === 'image' ? pictures : pdf,
      );
    };
    for (const [at, { content }] of listOf(body.messages, 'messages').entries()) {
      const place = `messages.${at}`;
      const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content, place);
      if (blocks.length === 0) refuse(`${place}: must not be empty`);
      const results = blocks.filter(({ type }) => type === 'tool_result');
      for (const { tool_use_id, content: output = [] } of results) {
        calls.result(tool_use_id, place);
        if (typeof output === 'string') checkText(output, place, true);
        else for (const one of listOf(output, place)) part(one, `${place}.tool_result`);
      }
      calls.settle(place);
      for (const block of blocks) {
        if (block.type === 'tool_use') calls.call(block.id, block.name, block.input, place);
        else if (block.type !== 'tool_result' && block.type !== 'thinking') part(block, place);
      }
    }
    calls.settle('messages');
    checkPictures(images, 'messages');
    checkTools(
      listOf(body.tools ?? [], 'tools'),
      /^[a-zA-Z0-9_-]{1,128}$/,
      checkParameters,
      (tool) => tool.input_schema,
    );
  },
  answer: ({ text, calls = [] }) => ({
    ...{ type: 'message', id: 'msg_1', role: 'assistant', model: 'claude', usage },
    content: [
      ...(text === undefined ? [] : [{ type: 'text', text }]),
      ...calls.map((call) => ({ type: 'tool_use', ...call })),
    ],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    stop_sequence: null,
  }),
  events(answer) {
    const { content, stop_reason, ...message } = this.answer(answer) as {
      readonly content: readonly Json[];
    } & Json;
    return [
      { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
      ...content.flatMap(({ input, text, ...block }, index) => [
        {
          type: 'content_block_start',
          index,
          content_block: { ...block, ...(text === undefined ? { input: {} } : { text: '' }) },
        },
        ...halves(String(text ?? JSON.stringify(input))).map((half) => ({
          type: 'content_block_delta',
          index,
          delta:
            text === undefined
              ? { type: 'input_json_delta', partial_json: half }
              : { type: 'text_delta', text: half },
        })),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
      { type: 'message_stop' },
    ];
  },
  errorBody: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
};

/** The chat completions protocol of OpenAI and compatible providers. */
const openaiChat: Format = {
  path: /\/chat\/completions$/,
  check(body) {
    const calls = new Calls(/^.{1,40}$/s, /^[a-zA-Z0-9_-]{1,64}$/);
    const part = ({ type, text, image_url, input_audio, file }: Json, place: string) => {
      if (type === 'text') return checkText(text, place);
      if (type === 'image_url' && isObject(image_url)) {
        const { url } = image_url;
        return String(url).startsWith('http')
          ? checkAddress(url, place)
          : checkFile(dataUrl(url, place), place, pictures);
      }
      if (type === 'file' && isObject(file)) return checkFile(dataUrl(file.file_data, place), place, pdf);
      const what = input_audio === undefined ? `unknown part ${type}` : 'this model does not accept audio';
      return refuse(`${place}: ${what}`);
    };
    for (const [at, message] of listOf(body.messages, 'messages').entries()) {
      const place = `messages.${at}`;
      const { role, content, tool_calls = [], tool_call_id } = message;
      if (role === 'tool') {
        calls.result(tool_call_id, place);
        checkText(content, place, true);
        continue;
      }
      calls.settle(place);
      const parts =
        typeof content === 'string' ? [{ type: 'text', text: content }] : listOf(content ?? [], place);
      if (parts.length === 0 && role !== 'assistant') refuse(`${place}: must not be empty`);
      for (const one of parts) if (role !== 'assistant' || one.text !== '') part(one, place);
      for (const { id, function: named } of listOf(tool_calls, place)) {
        const { name, arguments: input } = Object(named) as Json;
        calls.call(id, name, JSON.parse(String(input)), place);
      }
    }
    calls.settle('messages');
    const functions = listOf(body.tools ?? [], 'tools').map((tool) => Object(tool.function) as Json);
    checkTools(functions, /^[a-zA-Z0-9_-]{1,64}$/, checkParameters, (tool) => tool.parameters);
  },
  answer: ({ text = null, calls = [] }) => ({
    ...{ id: 'chat_1', object: 'chat.completion', created: 1, model: 'gpt' },
    choices: [
      {
        index: 0,
        finish_reason: calls.length > 0 ? 'tool_calls' : 'stop',
        message: {
          role: 'assistant',
          content: text,
          ...(calls.length > 0 && { tool_calls: calls.map(functionCall) }),
        },
      },
    ],
    usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
  }),
  events(answer) {
    const { choices, ...chunk } = this.answer(answer) as { readonly choices: readonly Json[] };
    return choices.flatMap(({ message, ...choice }) => {
      const { tool_calls = [], ...rest } = message as { readonly tool_calls?: readonly Json[] };
      const [content, more] = halves(answer.text ?? '');
      const indexed = tool_calls.map((call, index) => ({ index, ...call }));
      return [{ ...rest, content, tool_calls: indexed }, { content: more }].map((delta) => {
        return { ...chunk, object: 'chat.completion.chunk', choices: [{ ...choice, delta }] };
      });
    });
  },
  errorBody: openaiError,
};

function functionCall({ id, name, input }: NonNullable<StrictAnswer['calls']>[number]) {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input) } };
}

const openaiResponses: Format = {
  path: /\/responses$/,
  check(body) {
    const calls = new Calls(/^.{1,64}$/s, /^[a-zA-Z0-9_-]{1,128}$/);
    const part = ({ type, text, image_url, file_data, file_url }: Json, place: string) => {
      if (type === 'input_text' || type === 'output_text') return checkText(text, place);
      if (type === 'input_image')
        return String(image_url).startsWith('http')
          ? checkAddress(image_url, place)
          : checkFile(dataUrl(image_url, place), place, pictures);
      if (type === 'input_file')
        return file_url ? undefined : checkFile(dataUrl(file_data, place), place, pdf);
      return refuse(`${place}: unknown part ${type}`);
    };
    for (const [at, item] of listOf(body.input, 'input').entries()) {
      const place = `input.${at}`;
      const { type, role, content, call_id, name, output } = item;
      if (type === 'function_call_output') {
        calls.result(call_id, place);
        if (typeof output === 'string') checkText(output, place, true);
        else for (const one of listOf(output, place)) part(one, place);
        continue;
      }
      if (type === 'function_call') {
        calls.call(call_id, name, JSON.parse(String(item.arguments)), place);
        continue;
      }
      if (role !== 'assistant') calls.settle(place);
      if (type !== undefined && type !== 'message') continue;
      const parts =
        typeof content === 'string' ? [{ type: 'input_text', text: content }] : listOf(content, place);
      if (parts.length === 0) refuse(`${place}: must not be empty`);
      for (const one of parts) part(one, place);
    }
    calls.settle('input');
    const tools = listOf(body.tools ?? [], 'tools');
    checkTools(tools, /^[a-zA-Z0-9_-]{1,64}$/, checkParameters, (tool) => tool.parameters);
  },
  answer: (answer) => ({
    ...{ id: 'resp_1', object: 'response', created_at: 1, model: 'gpt', status: 'completed', error: null },
    incomplete_details: null,
    output: responseItems(answer),
    usage: { ...usage, total_tokens: 15 },
  }),
  events(answer) {
    const response = this.answer(answer) as { readonly output: readonly Json[] };
    return [
      { type: 'response.created', response },
      ...response.output.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } },
        ...halves(String(item.text ?? item.arguments)).map((delta) => ({
          type: `response.${item.type === 'message' ? 'output_text' : 'function_call_arguments'}.delta`,
          item_id: item.id,
          output_index,
          delta,
        })),
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response },
    ];
  },
  errorBody: openaiError,
};

function responseItems({ text, calls = [] }: StrictAnswer): readonly Json[] {
  const status = 'completed';
  const content = [{ type: 'output_text', text, annotations: [] }];
  return [
    ...(text === undefined
      ? []
      : [{ type: 'message', id: 'msg_1', role: 'assistant', status, text, content }]),
    ...calls.map((call, index) => ({
      ...{ type: 'function_call', id: `fc_${index}`, call_id: call.id, status },
      ...functionCall(call).function,
    })),
  ];
}

const inline = {
  takes:
    /^(?:image\/(?:png|jpeg|webp|hei[cf])|application\/pdf|audio\/(?:wav|mpeg|mp3|aiff|aac|ogg|flac)|video\/[\w-]+|text\/plain)$/,
  most: 20 * MB,
};

const google: Format = {
  path: /:(?:generateContent|streamGenerateContent)$/,
  check(body) {
    const calls = new Calls(/^.*$/s, /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/);
    let count = 0;
    let open: string[] = [];
    for (const [at, { parts }] of listOf(body.contents, 'contents').entries()) {
      const place = `contents.${at}`;
      const all = listOf(parts, place);
      if (all.length === 0) refuse(`${place}: parts must not be empty`);
      const results = all.flatMap(({ functionResponse }) =>
        isObject(functionResponse) ? [functionResponse] : [],
      );
      if (open.length !== results.length)
        refuse(`${place}: the number of function responses must equal the number of function calls`);
      for (const { response, parts: files } of results) {
        calls.result(open.shift(), place);
        checkText(JSON.stringify(response), place);
        for (const { inlineData } of listOf(files ?? [], place)) inlineFile(inlineData, place);
      }
      calls.settle(place);
      for (const { text, inlineData, fileData, functionCall: called } of all) {
        if (text !== undefined) checkText(text, place);
        if (fileData !== undefined) checkAddress(Object(fileData).fileUri, place);
        if (inlineData !== undefined) inlineFile(inlineData, place);
        if (isObject(called)) {
          const id = `call ${++count}`;
          calls.call(id, called.name, called.args, place);
          open = [...open, id];
        }
      }
    }
    calls.settle('contents');
    checkDepth(body.contents, 'contents');
    for (const { functionDeclarations } of listOf(body.tools ?? [], 'tools')) {
      const check = (schema: unknown, place: string) => {
        if (schema !== undefined) checkSchema(schema, place);
        checkGoogleSchema(schema, place);
      };
      const name = /^[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}$/;
      checkTools(listOf(functionDeclarations ?? [], 'tools'), name, check, (tool) => tool.parameters);
    }
  },
  answer: (answer) => ({
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            ...(answer.text === undefined ? [] : [{ text: answer.text }]),
            ...(answer.files ?? []).map((inlineData) => ({ inlineData })),
            ...(answer.calls ?? []).map(({ name, input }) => ({ functionCall: { name, args: input } })),
          ],
        },
        finishReason: 'STOP',
      },
    ],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 },
  }),
  events({ text = '', ...rest }) {
    return [...halves(text).map((half) => this.answer({ text: half })), this.answer(rest)];
  },
  errorBody: (message, code) => ({ error: { code, message, status: 'INVALID_ARGUMENT' } }),
};

function inlineFile(value: unknown, place: string): void {
  const { mimeType, data } = Object(value) as Json;
  checkFile({ mediaType: mimeType, data }, place, inline);
}

/** The protocols of providers, by name. */
export const FORMATS = {
  anthropic,
  'openai-responses': openaiResponses,
  'openai-chat': openaiChat,
  google,
} as const satisfies Readonly<Record<string, Format>>;

export type WireFormat = keyof typeof FORMATS;
