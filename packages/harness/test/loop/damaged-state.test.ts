import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RuntimeContext, SessionStoreError, toolResultMessage } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });

function filesBelow(directory: string): readonly string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe('a damaged session', () => {
  const damages = {
    'that is cut off': (text: string) => text.slice(0, text.length / 2),
    'that is empty': () => '',
    'that is no JSON': () => 'oops',
    'whose state is malformed': (text: string) => text.replace('"sessionId":"s"', '"sessionId":7'),
  };
  for (const [kind, damage] of Object.entries(damages)) {
    it(`${kind} fails the call, names the session, and is left as it is`, async () => {
      const root = scratch();
      const agent = (text: string) =>
        HarnessAgent.builder()
          .model(new ScriptedModel([{ text }]))
          .workspace(root)
          .build();
      await agent('one').call('hi', context);
      const path = filesBelow(root).find((candidate) => /head-\w+-2\.json$/.test(candidate)) ?? '';
      const damaged = damage(readFileSync(path, 'utf8'));
      expect(damaged).not.toBe(readFileSync(path, 'utf8'));
      writeFileSync(path, damaged);

      const error = await agent('two')
        .call('hi again', context)
        .then(() => undefined)
        .catch((caught: unknown) => caught);
      expect(SessionStoreError.isInstance(error)).toBe(true);
      expect(error).toMatchObject({ code: 'session_corrupt' });
      expect(String((error as Error).message)).toMatch(/repair|restore|delete/i);
      expect(readFileSync(path, 'utf8')).toBe(damaged);
    });
  }

  it('that holds results alone has nothing to resume, and goes on with what is said', async () => {
    const model = new ScriptedModel([{ text: 'one' }, { text: 'two' }]);
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).build();
    await agent.call('hi', context);
    await agent.updateState(context, (state) => {
      state
        .contextMutable()
        .splice(0, Number.POSITIVE_INFINITY, toolResultMessage({ id: 'c', name: 't' }, 'x'));
    });
    await expect(agent.resume(context)).rejects.toMatchObject({
      code: 'nothing_to_resume',
      message: expect.stringContaining('no messages that can be sent to a model'),
    });
    expect(model.requests).toHaveLength(1);
    expect((await agent.call('and now?', context)).text).toBe('two');
    expect(model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual(['user']);
    await agent.close();
  });

  it('does not keep other sessions from working', async () => {
    const root = scratch();
    const directory = join(root, '.x/agents/agent/context/s');
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'head.json'), 'oops');
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([{ text: 'fine' }]))
      .workspace(root)
      .build();
    await expect(agent.call('hi', context)).rejects.toThrow(SessionStoreError);
    expect((await agent.call('hi', RuntimeContext.of({ sessionId: 'other' }))).text).toBe('fine');
  });
});
