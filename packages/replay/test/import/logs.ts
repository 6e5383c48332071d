/** One short conversation, as each program would have logged it: a question, a call that failed, its answer. */
const lines = (...entries: readonly unknown[]) => entries.map((entry) => JSON.stringify(entry)).join('\n');

const at = (second: number) => `2026-01-02T03:04:${String(second).padStart(2, '0')}.000Z`;

const claude = (
  uuid: string,
  parentUuid: string | null,
  type: string,
  message: object,
  more: object = {},
): object => ({
  uuid,
  parentUuid,
  type,
  sessionId: 's-1',
  timestamp: at(1),
  isSidechain: false,
  message,
  ...more,
});

const usage = {
  input_tokens: 3,
  output_tokens: 5,
  cache_read_input_tokens: 90,
  cache_creation_input_tokens: 7,
};

export const logs = {
  'claude-code': lines(
    { type: 'summary', summary: 'A title', leafUuid: 'a-2' },
    { type: 'file-history-snapshot', messageId: 'u-1', snapshot: {} },
    claude('u-1', null, 'user', { role: 'user', content: 'Read src/app.ts' }),
    claude('x-1', 'u-1', 'assistant', { id: 'm-0', content: [{ type: 'text', text: 'abandoned' }] }),
    claude(
      'side',
      'u-1',
      'assistant',
      { id: 'm-9', content: [{ type: 'text', text: 'subagent' }] },
      { isSidechain: true },
    ),
    claude('a-1', 'u-1', 'assistant', {
      id: 'm-1',
      model: 'some-model',
      content: [{ type: 'thinking', thinking: 'hm', signature: 'sig' }],
      usage,
    }),
    claude('a-2', 'a-1', 'assistant', {
      id: 'm-1',
      content: [{ type: 'tool_use', id: 'c-1', name: 'Read', input: { path: 'src/app.ts' } }],
      usage,
    }),
    claude('r-1', 'a-2', 'user', {
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'c-1',
          content: [{ type: 'text', text: 'no such file' }],
          is_error: true,
        },
      ],
    }),
    claude('a-3', 'r-1', 'assistant', {
      id: 'm-2',
      content: [{ type: 'text', text: 'It is missing.' }],
      usage,
    }),
  ),
  codex: lines(
    { timestamp: at(0), type: 'session_meta', payload: { id: 's-1', instructions: 'You fix bugs.' } },
    { timestamp: at(0), type: 'turn_context', payload: { model: 'some-model' } },
    {
      timestamp: at(1),
      type: 'response_item',
      payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Read src/app.ts' }] },
    },
    { timestamp: at(1), type: 'event_msg', payload: { type: 'user_message', message: 'Read src/app.ts' } },
    {
      timestamp: at(2),
      type: 'response_item',
      payload: { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'x' },
    },
    {
      timestamp: at(2),
      type: 'response_item',
      payload: { type: 'function_call', name: 'Read', arguments: '{"path":"src/app.ts"}', call_id: 'c-1' },
    },
    {
      timestamp: at(2),
      type: 'event_msg',
      payload: {
        type: 'token_count',
        info: { last_token_usage: { input_tokens: 100, cached_input_tokens: 90, output_tokens: 5 } },
      },
    },
    {
      timestamp: at(3),
      type: 'response_item',
      payload: {
        type: 'function_call_output',
        call_id: 'c-1',
        output: { content: 'no such file', success: false },
      },
    },
    {
      timestamp: at(4),
      type: 'response_item',
      payload: {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'It is missing.' }],
      },
    },
  ),
  pi: lines(
    { type: 'session', version: 3, id: 's-1', timestamp: at(0), cwd: '/project' },
    {
      type: 'model_change',
      id: 'e-0',
      parentId: null,
      timestamp: at(0),
      provider: 'p',
      modelId: 'some-model',
    },
    entry('e-1', 'e-0', { role: 'user', content: 'Read src/app.ts', timestamp: 1 }),
    entry('e-x', 'e-1', { role: 'assistant', content: [{ type: 'text', text: 'abandoned' }] }),
    entry('e-2', 'e-1', {
      role: 'assistant',
      model: 'some-model',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'toolCall', id: 'c-1', name: 'Read', arguments: { path: 'src/app.ts' } },
      ],
      usage: { input: 3, output: 5, cacheRead: 90, cacheWrite: 7 },
    }),
    entry('e-3', 'e-2', {
      role: 'toolResult',
      toolCallId: 'c-1',
      toolName: 'Read',
      content: [{ type: 'text', text: 'no such file' }],
      isError: true,
    }),
    entry('e-4', 'e-3', { role: 'assistant', content: [{ type: 'text', text: 'It is missing.' }] }),
  ),
  droid: lines(
    { type: 'session_start', id: 's-1', version: 2, cwd: '/project' },
    entry('e-1', 's-1', { role: 'user', content: [{ type: 'text', text: 'Read src/app.ts' }] }),
    entry('e-2', 'e-1', {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm' },
        { type: 'tool_use', id: 'c-1', name: 'Read', input: { path: 'src/app.ts' } },
      ],
    }),
    entry('e-3', 'e-2', {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c-1', content: 'no such file', is_error: true }],
    }),
    entry('e-4', 'e-3', { role: 'assistant', content: [{ type: 'text', text: 'It is missing.' }] }),
  ),
  'x-session-log': lines(
    said('user', [{ type: 'text', text: 'Read src/app.ts' }]),
    said('assistant', [
      { type: 'thinking', thinking: 'hm' },
      { type: 'tool_use', id: 'c-1', name: 'Read', input: { path: 'src/app.ts' } },
    ]),
    said('tool', [
      {
        type: 'tool_result',
        toolUseId: 'c-1',
        toolName: 'Read',
        output: [{ type: 'text', text: 'no such file' }],
        isError: true,
      },
    ]),
    said('assistant', [{ type: 'text', text: 'It is missing.' }]),
  ),
  'openai-chat': JSON.stringify({
    messages: [
      { role: 'system', content: 'You fix bugs.' },
      { role: 'user', content: 'Read src/app.ts' },
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'hm',
        tool_calls: [
          { id: 'c-1', type: 'function', function: { name: 'Read', arguments: '{"path":"src/app.ts"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c-1', content: 'no such file' },
      { role: 'assistant', content: 'It is missing.' },
    ],
  }),
  'openai-responses': JSON.stringify([
    { role: 'user', content: 'Read src/app.ts' },
    { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 'hm' }] },
    { type: 'function_call', call_id: 'c-1', name: 'Read', arguments: '{"path":"src/app.ts"}' },
    { type: 'function_call_output', call_id: 'c-1', output: 'no such file' },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'It is missing.' }] },
  ]),
  'anthropic-messages': JSON.stringify([
    { role: 'user', content: 'Read src/app.ts' },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'sig' },
        { type: 'tool_use', id: 'c-1', name: 'Read', input: { path: 'src/app.ts' } },
      ],
    },
    {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'c-1', content: 'no such file', is_error: true }],
    },
    { role: 'assistant', content: 'It is missing.' },
  ]),
  'ai-sdk-model-messages': JSON.stringify([
    { role: 'user', content: 'Read src/app.ts' },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'tool-call', toolCallId: 'c-1', toolName: 'Read', input: { path: 'src/app.ts' } },
      ],
    },
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: 'c-1',
          toolName: 'Read',
          output: { type: 'error-text', value: 'no such file' },
        },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'It is missing.' }] },
  ]),
  'ai-sdk-ui-messages': JSON.stringify([
    { id: '1', role: 'user', parts: [{ type: 'text', text: 'Read src/app.ts' }] },
    {
      id: '2',
      role: 'assistant',
      parts: [
        { type: 'step-start' },
        { type: 'reasoning', text: 'hm' },
        {
          type: 'tool-Read',
          toolCallId: 'c-1',
          state: 'output-error',
          input: { path: 'src/app.ts' },
          errorText: 'no such file',
        },
        { type: 'step-start' },
        { type: 'text', text: 'It is missing.' },
      ],
    },
  ]),
  'gemini-cli': JSON.stringify({
    sessionId: 's-1',
    projectHash: 'h',
    startTime: at(0),
    messages: [
      { id: '0', type: 'info', content: 'Update available', timestamp: at(1) },
      { id: '1', type: 'user', content: [{ text: 'Read src/app.ts' }], timestamp: at(1) },
      {
        id: '2',
        type: 'gemini',
        content: '',
        thoughts: [{ subject: '', description: 'hm' }],
        toolCalls: [
          {
            id: 'c-1',
            name: 'Read',
            args: { path: 'src/app.ts' },
            status: 'error',
            result: [{ functionResponse: { id: 'c-1', name: 'Read', response: { error: 'no such file' } } }],
          },
        ],
        tokens: { input: 100, output: 5, cached: 90, total: 105 },
        model: 'some-model',
        timestamp: at(1),
      },
      { id: '3', type: 'gemini', content: 'It is missing.', timestamp: at(1) },
    ],
  }),
  'gemini-stream': lines(
    { type: 'result', timestamp: at(0), status: 'success', stats: {} },
    { type: 'init', timestamp: at(1), session_id: 's-1', model: 'some-model' },
    { type: 'message', timestamp: at(1), role: 'user', content: 'Read src/app.ts' },
    { type: 'message', timestamp: at(1), role: 'assistant', content: 'h', delta: true },
    { type: 'message', timestamp: at(1), role: 'assistant', content: 'm', delta: true },
    {
      ...{ type: 'tool_use', timestamp: at(1), tool_name: 'Read', tool_id: 'c-1' },
      parameters: { path: 'src/app.ts' },
    },
    { type: 'tool_result', timestamp: at(1), tool_id: 'c-1', status: 'error', output: 'no such file' },
    { type: 'message', timestamp: at(1), role: 'assistant', content: 'It is missing.', delta: true },
  ),
  opencode: JSON.stringify({
    info: { id: 's-1', title: 'A file' },
    messages: [
      { info: { id: 'm1', role: 'user' }, parts: [{ type: 'text', text: 'Read src/app.ts' }] },
      {
        info: {
          id: 'm2',
          role: 'assistant',
          modelID: 'some-model',
          tokens: { input: 10, output: 5, reasoning: 0, cache: { read: 90, write: 0 } },
        },
        parts: [
          { type: 'step-start' },
          { type: 'reasoning', text: 'hm' },
          {
            type: 'tool',
            callID: 'c-1',
            tool: 'Read',
            state: { status: 'error', input: { path: 'src/app.ts' }, error: 'no such file' },
          },
        ],
      },
      { info: { id: 'm3', role: 'assistant' }, parts: [{ type: 'text', text: 'It is missing.' }] },
    ],
  }),
  'copilot-cli': lines(
    { type: 'session.start', data: { sessionId: 's-1', selectedModel: 'some-model' }, timestamp: at(1) },
    { type: 'user.message', data: { content: 'Read src/app.ts', transformedContent: 'x' }, timestamp: at(1) },
    { type: 'assistant.turn_start', data: { turnId: '0' }, timestamp: at(1) },
    {
      type: 'assistant.message',
      data: {
        messageId: 'm1',
        content: '',
        reasoningText: 'hm',
        toolRequests: [{ toolCallId: 'c-1', name: 'Read', arguments: { path: 'src/app.ts' } }],
      },
      timestamp: at(1),
    },
    { type: 'tool.execution_start', data: { toolCallId: 'c-1', toolName: 'Read' }, timestamp: at(1) },
    {
      type: 'tool.execution_complete',
      data: { toolCallId: 'c-1', success: false, error: { message: 'no such file' } },
      timestamp: at(1),
    },
    { type: 'assistant.message', data: { messageId: 'm2', content: 'It is missing.' }, timestamp: at(1) },
  ),
  langchain: JSON.stringify({
    values: {
      messages: [
        { type: 'human', content: 'Read src/app.ts', id: '1' },
        {
          type: 'ai',
          content: [
            { type: 'reasoning', reasoning: 'hm' },
            { type: 'tool_use', id: 'c-1', name: 'Read', input: { path: 'src/app.ts' } },
          ],
          tool_calls: [{ id: 'c-1', name: 'Read', args: { path: 'src/app.ts' }, type: 'tool_call' }],
        },
        { type: 'tool', content: 'no such file', tool_call_id: 'c-1', name: 'Read', status: 'error' },
        { type: 'ai', content: 'It is missing.' },
      ],
    },
  }),
  'gemini-contents': JSON.stringify({
    contents: [
      { role: 'user', parts: [{ text: 'Read src/app.ts' }] },
      {
        role: 'model',
        parts: [
          { text: 'hm', thought: true },
          { functionCall: { id: 'c-1', name: 'Read', args: { path: 'src/app.ts' } } },
        ],
      },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'c-1', name: 'Read', response: { error: 'no such file' } } }],
      },
      { role: 'model', parts: [{ text: 'It is missing.' }] },
    ],
  }),
} as const;

function entry(id: string, parentId: string, message: object): object {
  return { type: 'message', id, parentId, timestamp: at(1), message };
}

function said(role: string, content: readonly object[]): object {
  return { id: `m-${role}-${content.length}`, role, content, createdAt: at(1) };
}
