import {
  assistantMessage,
  type ContentBlock,
  type Message,
  systemMessage,
  type ToolOutputBlock,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { describe, expect, it } from 'vitest';
import type { PromptTarget } from '../../src/prompt/prompt.js';
import { rulesOf } from '../../src/prompt/provider-rules.js';
import { toPrompt } from '../../src/prompt/to-prompt.js';

const rules = rulesOf({ provider: 'openai.responses', modelId: 'gpt-5', specificationVersion: 'v3' });
const v3: PromptTarget = { specificationVersion: 'v3', provider: 'openai.responses', rules };
const v2: PromptTarget = { ...v3, specificationVersion: 'v2' };
const v4: PromptTarget = { ...v3, specificationVersion: 'v4' };
const call = { type: 'tool_use', id: 'c1', name: 'look', input: {} } as const;
const png = { type: 'file', mediaType: 'image/png' } as const;
const pdf = { type: 'file', mediaType: 'application/pdf', filename: 'a.pdf' } as const;
const inline = { type: 'base64', data: 'AAAA' } as const;
const linked = { type: 'url', url: 'https://a.test/x' } as const;
const kept = { type: 'provider', provider: 'openai', id: 'file-1' } as const;

function prompt(messages: readonly Message[], target = v3, system?: string) {
  return toPrompt({ system, messages }, target);
}

const contentOf = (blocks: readonly ContentBlock[], target = v3) =>
  prompt([userMessage('Hi'), assistantMessage(blocks)], target)[1]?.content;

function outputOf(output: readonly ToolOutputBlock[], target = v3, isError = false) {
  const [message] = prompt([toolResultMessage(call, output, { isError })], target);
  return (message?.content[0] as { output?: unknown } | undefined)?.output;
}

describe('system messages', () => {
  it('stand in front, as one unless they carry options', () => {
    const cached = systemMessage([
      {
        type: 'text',
        text: 'Long.',
        providerMetadata: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      },
    ]);
    expect(prompt([systemMessage('Rules.'), cached, userMessage('Hi')], v3, 'Be brief.')).toEqual([
      { role: 'system', content: 'Be brief.\n\nRules.' },
      {
        role: 'system',
        content: 'Long.',
        providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
      },
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
    ]);
  });

  it('become the user’s words inside the conversation', () => {
    expect(prompt([userMessage('Hi'), systemMessage('Mode: plan'), systemMessage('')])).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Hi' }] },
      { role: 'user', content: [{ type: 'text', text: '<system>\nMode: plan\n</system>' }] },
    ]);
  });
});

describe('blocks', () => {
  it('leave out what providers refuse: blank text and empty thoughts', () => {
    const kept: ContentBlock = { type: 'text', text: '', providerMetadata: { openai: { itemId: 'm1' } } };
    const blank: ContentBlock[] = [
      { type: 'text', text: '\n\n' },
      { type: 'thinking', thinking: '' },
    ];
    expect(prompt([assistantMessage(blank)])).toEqual([]);
    expect(contentOf([...blank, kept, call])).toEqual([
      { type: 'text', text: '', providerOptions: { openai: { itemId: 'm1' } } },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} },
    ]);
  });

  it('leave out an empty text that another provider marked', () => {
    const anthropic = { ...v3, provider: 'anthropic.messages' };
    for (const name of ['openai', 'google'])
      expect(
        contentOf([{ type: 'text', text: '', providerMetadata: { [name]: { id: 'm1' } } }, call], anthropic),
      ).toEqual([{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} }]);
  });

  it('leave out thoughts with nothing behind them', () => {
    const thoughts: ContentBlock[] = [
      { type: 'thinking', thinking: 'Hm' },
      { type: 'thinking', thinking: '', providerMetadata: { google: { thoughtSignature: 's' } } },
      { type: 'text', text: ' ' },
    ];
    expect(prompt([userMessage('Hi'), assistantMessage(thoughts)])).toHaveLength(1);
    expect(contentOf([...thoughts, call])).toHaveLength(3);
    const own: ContentBlock = {
      type: 'thinking',
      thinking: 'Hm',
      providerMetadata: { openai: { itemId: 'r' } },
    };
    expect(prompt([userMessage('Hi'), assistantMessage([own])])).toHaveLength(1);
    expect(contentOf([{ type: 'text', text: 'Yes' }, own])).toEqual([{ type: 'text', text: 'Yes' }]);
  });

  it('turn a bare signature into Anthropic’s metadata, and prefer metadata that is there', () => {
    const signed: ContentBlock = { type: 'thinking', thinking: 'Hm', signature: 'sig' };
    const metadata = { bedrock: { signature: 'other' } };
    expect(contentOf([signed, { ...signed, providerMetadata: metadata }, call])?.slice(0, 2)).toEqual([
      { type: 'reasoning', text: 'Hm', providerOptions: { anthropic: { signature: 'sig' } } },
      { type: 'reasoning', text: 'Hm', providerOptions: metadata },
    ]);
  });

  it('show input that is no object under a name', () => {
    expect(
      contentOf([
        { ...call, input: '{"a": ' },
        { ...call, input: [1] },
      ]),
    ).toMatchObject([{ input: { invalid_input: '{"a": ' } }, { input: { invalid_input: [1] } }]);
  });

  it('go into messages of their kind, results in a row into one', () => {
    const mixed = userMessage([
      { type: 'tool_result', toolUseId: 'c1', toolName: 'look', output: [], isError: false },
      { type: 'text', text: 'And now?' },
    ]);
    const messages = [assistantMessage([call]), toolResultMessage({ id: 'c0', name: 'look' }, 'x'), mixed];
    expect(
      prompt([userMessage('Hi'), ...messages]).map(({ role, content }) => [role, content.length]),
    ).toEqual([
      ['user', 1],
      ['assistant', 1],
      ['tool', 2],
      ['user', 1],
    ]);
  });

  it('follow a user’s message where the assistant began, but for what a provider compacted', () => {
    const rolesOf = (first: Message) =>
      prompt([first, userMessage('Hi')], v3, 'Be brief.').map(({ role }) => role);
    expect(rolesOf(assistantMessage('Welcome'))).toEqual(['system', 'user', 'assistant', 'user']);
    expect(rolesOf(assistantMessage([call]))).toEqual(['system', 'user', 'assistant', 'user']);
    const compacted = {
      type: 'thinking',
      thinking: '',
      providerMetadata: { openai: { itemId: 'i', reasoningEncryptedContent: 'compaction:{}' } },
    } as const;
    expect(rolesOf(assistantMessage([compacted]))).toEqual(['system', 'assistant', 'user']);
  });

  it('mark a result as its call was marked', () => {
    const marked = { ...call, providerMetadata: { google: { thoughtSignature: 's' } } };
    const messages = [assistantMessage([marked]), toolResultMessage(call, 'x')];
    expect(prompt(messages)[1]?.content[0]).toMatchObject({ providerOptions: marked.providerMetadata });
  });
});

describe('files', () => {
  const files = [
    { ...png, source: inline },
    { ...pdf, source: linked, providerMetadata: { openai: { detail: 'low' } } },
    { ...png, source: kept },
  ];

  it('are written as the version wants them', () => {
    const common = [
      { type: 'file', mediaType: 'image/png' },
      {
        type: 'file',
        mediaType: 'application/pdf',
        filename: 'a.pdf',
        providerOptions: { openai: { detail: 'low' } },
      },
      { type: 'file', mediaType: 'image/png' },
    ];
    const plain = ['AAAA', new URL(linked.url), 'file-1'];
    const tagged = [
      { type: 'data', data: 'AAAA' },
      { type: 'url', url: new URL(linked.url) },
      { type: 'reference', reference: { openai: 'file-1' } },
    ];
    expect(contentOf(files, v2)).toEqual(common.map((part, index) => ({ ...part, data: plain[index] })));
    expect(contentOf(files, v3)).toEqual(common.map((part, index) => ({ ...part, data: plain[index] })));
    expect(contentOf(files, v4)).toEqual(common.map((part, index) => ({ ...part, data: tagged[index] })));
  });

  it('are written so in results of tools', () => {
    expect(outputOf(files, v2)).toEqual({
      type: 'content',
      value: [
        { type: 'media', data: 'AAAA', mediaType: 'image/png' },
        { type: 'text', text: '[application/pdf: https://a.test/x]' },
        { type: 'text', text: '[image/png: file-1]' },
      ],
    });
    expect(
      outputOf(
        [...files, { ...pdf, source: inline }, { ...png, source: linked }, { ...pdf, source: kept }],
        v3,
      ),
    ).toEqual({
      type: 'content',
      value: [
        { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
        {
          type: 'file-url',
          url: linked.url,
          mediaType: 'application/pdf',
          providerOptions: { openai: { detail: 'low' } },
        },
        { type: 'image-file-id', fileId: { openai: 'file-1' } },
        { type: 'file-data', data: 'AAAA', mediaType: 'application/pdf', filename: 'a.pdf' },
        { type: 'image-url', url: linked.url },
        { type: 'file-id', fileId: { openai: 'file-1' } },
      ],
    });
    expect(outputOf(files, v4)).toMatchObject({
      type: 'content',
      value: [
        { type: 'file', data: { type: 'data' } },
        { type: 'file', data: { type: 'url' } },
        { data: { type: 'reference' } },
      ],
    });
  });
});

describe('results of tools', () => {
  const plain: ToolOutputBlock = { type: 'text', text: 'one' };
  const marked: ToolOutputBlock = { type: 'text', text: 'two', providerMetadata: { anthropic: { a: 1 } } };

  it('are text as long as they can be', () => {
    expect(outputOf([])).toEqual({ type: 'text', value: '' });
    expect(outputOf([{ type: 'text', text: ' \n' }])).toEqual({ type: 'text', value: '' });
    expect(outputOf([plain, plain])).toEqual({ type: 'text', value: 'one\none' });
    expect(outputOf([plain, plain], v3, true)).toEqual({ type: 'error-text', value: 'one\none' });
    expect(outputOf([marked])).toEqual({
      type: 'text',
      value: 'two',
      providerOptions: { anthropic: { a: 1 } },
    });
    expect(outputOf([marked, plain], v2)).toEqual({ type: 'text', value: 'two\none' });
  });

  it('are parts where there is something to keep, and say when they failed', () => {
    expect(outputOf([plain, marked], v3, true)).toEqual({
      type: 'content',
      value: [
        { type: 'text', text: 'The tool failed.' },
        { type: 'text', text: 'one' },
        { type: 'text', text: 'two', providerOptions: { anthropic: { a: 1 } } },
      ],
    });
  });
});

describe('a provider’s own parts', () => {
  const opaque = (data: Record<string, unknown>, provider = v3.provider) =>
    ({ type: 'opaque', provider, data }) as ContentBlock;
  const providerMetadata = { openai: { itemId: 'i1' } };

  it('leave out blank texts beside a file', () => {
    const picture = { ...png, source: inline };
    expect(outputOf([{ type: 'text', text: '\n' }, picture])).toEqual(outputOf([picture]));
  });

  it('go back as a prompt writes them', () => {
    const blocks = [
      opaque({ type: 'custom', kind: 'openai.compaction', providerMetadata }),
      opaque({
        type: 'tool-call',
        toolCallId: 's1',
        toolName: 'search',
        input: '{"q":1}',
        providerExecuted: true,
        dynamic: true,
        providerMetadata,
      }),
      opaque({
        type: 'tool-result',
        toolCallId: 's1',
        toolName: 'search',
        result: { hits: 1 },
        providerMetadata,
      }),
      opaque({ type: 'tool-result', toolCallId: 's2', toolName: 'search', result: 'none' }),
      opaque({
        type: 'tool-result',
        toolCallId: 's3',
        toolName: 'search',
        result: { code: 1 },
        isError: true,
      }),
      opaque({
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'url', url: 'https://a.test/p' },
      }),
    ];
    expect(contentOf(blocks, v4)).toEqual([
      { type: 'custom', kind: 'openai.compaction', providerOptions: providerMetadata },
      {
        type: 'tool-call',
        toolCallId: 's1',
        toolName: 'search',
        input: { q: 1 },
        providerExecuted: true,
        providerOptions: providerMetadata,
      },
      {
        type: 'tool-result',
        toolCallId: 's1',
        toolName: 'search',
        output: { type: 'json', value: { hits: 1 } },
        providerOptions: providerMetadata,
      },
      { type: 'tool-result', toolCallId: 's2', toolName: 'search', output: { type: 'text', value: 'none' } },
      {
        type: 'tool-result',
        toolCallId: 's3',
        toolName: 'search',
        output: { type: 'error-json', value: { code: 1 } },
      },
      {
        type: 'reasoning-file',
        mediaType: 'image/png',
        data: { type: 'url', url: new URL('https://a.test/p') },
      },
    ]);
  });

  it('stay here when they are another provider’s, or for the application alone', () => {
    const blocks = [
      opaque({ type: 'custom', kind: 'a.b' }, 'anthropic.messages'),
      opaque({ type: 'source', id: '1' }),
      opaque({ type: 'citations', citations: [] }),
      opaque({ type: 'tool-approval-request', approvalId: 'a1' }),
    ];
    expect(prompt([assistantMessage(blocks)])).toEqual([]);
  });

  it('answer a request for approval in a message of their own', () => {
    const approval = { type: 'tool-approval-response', approvalId: 'a1', approved: true };
    expect(prompt([userMessage([opaque(approval)])])).toEqual([{ role: 'tool', content: [approval] }]);
  });
});
