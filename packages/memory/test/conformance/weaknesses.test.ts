import { assistantMessage, type SessionKeyParts, toolResultMessage, userMessage } from '@x/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memory, sessionHistory } from '../../src/index.js';
import { logSession, runTool, testWorkspace, toolContext } from '../support/test-context.js';

const alice: SessionKeyParts = { userId: 'alice', agentId: 'coder', sessionId: 'now' };
const prefix = 'users/alice/agents/coder/';

function testMemory() {
  const capability = memory({ model: null, maintenance: false });
  onTestFinished(() => capability.close?.());
  return capability;
}

describe('recall', () => {
  it.each([
    ['words in another order', 'rotate keys when', 'The signing keys rotate every Monday.'],
    ['another form of a word', 'migrating databases', 'We migrated the database to version 9.'],
    ['a question', 'what is the name of the printer in Oslo?', 'The printer in Oslo is called heron.'],
    ['Chinese within a sentence', '打印机', '奥斯陆的打印机叫苍鹭。'],
    ['quotes and operators', '"printer" AND (Oslo OR', 'The printer in Oslo is called heron.'],
  ])('finds a line by %s, before others, and no more than asked for', async (_, query, line) => {
    const workspace = await testWorkspace();
    const noise = Array.from(
      { length: 500 },
      (_each, index) => `- Note ${index} on the weather and on lunch.`,
    );
    await workspace.write(`${prefix}MEMORY.md`, [...noise, `- ${line}`, ...noise].join('\n'));
    const context = toolContext(workspace, alice);
    const found = await runTool(testMemory(), 'memory_search', { query, limit: 3 }, context);
    const hits = found.split('\n').filter((each) => each.includes('MEMORY.md:'));
    expect(hits.length).toBeLessThanOrEqual(3);
    expect(hits[0]).toContain(line);
  });

  it('finds nothing of others, also where their ids look like patterns', async () => {
    const workspace = await testWorkspace();
    for (const userId of ['%', '*', 'alice/agents', '..', 'ALICE']) {
      const other = { userId, agentId: 'coder', sessionId: 'now' };
      await runTool(
        testMemory(),
        'memory_save',
        { content: `heron of ${userId}` },
        toolContext(workspace, other),
      );
      await logSession(workspace, other, [userMessage(`heron of ${userId}`)]);
    }
    const context = toolContext(workspace, alice);
    expect(await runTool(testMemory(), 'memory_search', { query: 'heron' }, context)).not.toContain(
      'heron of',
    );
    const found = await runTool(sessionHistory(), 'session_search', { query: 'heron' }, context);
    expect(found).not.toContain('heron of');
  });
});

describe('the full history', () => {
  it('is full: what calls were given and what tools answered, at whatever length, and found by it', async () => {
    const workspace = await testWorkspace();
    const call = {
      type: 'tool_use' as const,
      id: 'c1',
      name: 'write_file',
      input: { path: 'a', content: `${'x '.repeat(5_000)}heron` },
    };
    const said = [
      userMessage('Write it'),
      assistantMessage([call]),
      toolResultMessage(call, `${'y '.repeat(50_000)}egret`),
    ];
    const old = { ...alice, sessionId: 'old' };
    await logSession(workspace, old, said);
    const context = toolContext(workspace, alice);
    for (const word of ['heron', 'egret']) {
      const found = await runTool(sessionHistory(), 'session_search', { query: word }, context);
      expect(found).toMatch(new RegExp(`"old".*${word}`, 's'));
      expect(found.length).toBeLessThan(10_000);
    }
    const logged = [];
    for await (const message of toolContext(workspace, old).log.read()) logged.push(message);
    expect(logged).toEqual(said);
  });
});
