// Texts of which each place may begin what a pattern looks for: whoever goes through the rest from each needs minutes.
import { SessionKey, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { MemoryIndex, MemoryService, memory, workspaceContext } from '../src/index.js';
import { scribe } from './support/models.js';
import { callScope, logSession, testWorkspace } from './support/test-context.js';

const alice = { userId: 'alice', sessionId: 's' };
const prefix = 'users/alice/';
const LENGTH = 400_000;
/** Two such lines fit into MEMORY.md. */
const MEMORY_LENGTH = 50_000;

describe.each(['<a', ' ', '.'])('%j again and again', (part) => {
  const text = `It${part.repeat(LENGTH / part.length)}ends`;

  it('is read, merged, shown and searched, in a note and in MEMORY.md', async () => {
    const workspace = await testWorkspace();
    const long = part.repeat(MEMORY_LENGTH / part.length);
    await workspace.write(`${prefix}memory/2026-01-01.md`, `- It${long}ends\n- The port is 5433\n`);
    await workspace.write(`${prefix}MEMORY.md`, `- <${long} ends\n`);
    const service = new MemoryService({ workspace, maxMemoryTokens: 50_000 });
    await service.consolidate(prefix, { now: true });
    expect((await service.facts(prefix)).map((fact) => fact.text)).toContain('The port is 5433');
    expect((await service.search(prefix, 'port')).hits[0]?.content).toContain('5433');
    const shown = await memory({ maxPromptTokens: 1_000_000 }).system?.(callScope(workspace, alice));
    expect(shown).toContain('The port is 5433');
    await service.close();
  });

  it('is said to an agent, and what follows is noted', async () => {
    const workspace = await testWorkspace();
    await logSession(workspace, alice, [userMessage(text), userMessage('My name is Ada.')]);
    const service = new MemoryService({ workspace, model: scribe() });
    const { bullets } = await service.flush(SessionKey.of(alice));
    expect(bullets).toEqual(['My name is Ada.']);
    await service.close();
  });

  it('stands in AGENTS.md', async () => {
    const workspace = await testWorkspace();
    await workspace.write('AGENTS.md', `<${part.repeat(LENGTH / part.length)} ends`);
    const context = workspaceContext({ maxTokens: 1_000_000 });
    expect(await context.system?.(callScope(workspace, alice))).toContain('ends');
  });
});

it('a line of such a text is found', async () => {
  const index = await MemoryIndex.open(':memory:');
  await index.indexFromString('memory/a.md', `${' '.repeat(LENGTH)}The port is 5433${' '.repeat(LENGTH)}`);
  expect((await index.search('port'))[0]?.content).toContain('5433');
  index.close();
});
