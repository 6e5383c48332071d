import type { AgentInputItem } from '@openai/agents';
import { InMemorySession, ItemLog, type Message, SessionKey } from '@x/core';
import { dialectSuite } from '@x/test-support/suites';
import { fromView, toView, type ViewEntry } from '../src/compaction.js';
import { toStored } from '../src/stored-item.js';
import { called, said, user } from './fake-model.js';

/** A view joins what a model did in a row: the suite's sources are stored messages, one an item. */
const log = new ItemLog(new InMemorySession(), SessionKey.of('s'), 'openai-agents');
const stored = (items: readonly AgentInputItem[]): readonly Message[] =>
  items.map((item) => toStored(log, item));
const result = (callId: string, output: unknown) =>
  ({ type: 'function_call_result', callId, name: 'read', status: 'completed', output }) as AgentInputItem;

dialectSuite<Message>({
  name: 'OpenAI Agents',
  open() {
    let entries: readonly ViewEntry[] = [];
    return {
      read(sources) {
        entries = toView(sources, log);
        return entries.map(({ message }) => message);
      },
      write: (messages) => fromView(messages, entries, log),
    };
  },
  isFixed: (block) => block.type === 'tool_result' && block.toolName === 'shell',
  conversations: {
    'words and files': () =>
      stored([
        user('Hi'),
        said('Hello.'),
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Look' },
            { type: 'input_image', image: 'data:image/png;base64,AAAA' },
          ],
        } as AgentInputItem,
        said('Seen.'),
      ]),
    'calls, thoughts and results': () =>
      stored([
        user('Read'),
        { type: 'reasoning', id: 'rs_1', content: [], providerData: { encrypted_content: 'gAAAA' } } as never,
        called('a', 'read', { path: 'a.ts' }),
        called('b', 'read', { path: 'b.ts' }),
        result('a', { type: 'text', text: 'plain' }),
        result('b', [{ type: 'input_text', text: 'in parts' }]),
        said('Done.'),
        user('And?'),
      ]),
    'shells, and tools that the provider runs': () =>
      stored([
        user('Run it'),
        { type: 'hosted_tool_call', id: 'ws_1', name: 'web_search_call', status: 'completed' } as never,
        { type: 'shell_call', callId: 's', status: 'completed', action: { commands: ['ls'] } } as never,
        {
          type: 'shell_call_output',
          callId: 's',
          output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exitCode: 0 } }],
        } as never,
        said('Ran.'),
      ]),
  },
});
