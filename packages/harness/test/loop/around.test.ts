import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CallScope, Capability } from '@x/core';
import { defineTool } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { limitsSchema } from '../../src/agent/limits.js';
import { HarnessAgent } from '../../src/index.js';
import { around } from '../../src/loop/around.js';
import { scratch } from '../support.js';

const HOOKS = ['aroundCall', 'aroundReason', 'aroundModel', 'aroundTool'] as const;

/** A capability with state of its own that says when its hooks begin and end. */
class Recording implements Capability {
  readonly name: string;
  readonly #said: string[];

  constructor(name: string, said: string[]) {
    this.name = name;
    this.#said = said;
  }

  aroundCall: NonNullable<Capability['aroundCall']> = async (_, next) => this.#within('aroundCall', next);
  aroundReason: NonNullable<Capability['aroundReason']> = (_, next) => this.#within('aroundReason', next);

  aroundModel(...[request, , next]: Parameters<NonNullable<Capability['aroundModel']>>) {
    return this.#within('aroundModel', () => next({ ...request, system: `${request.system}+${this.name}` }));
  }

  aroundTool(...[call, , next]: Parameters<NonNullable<Capability['aroundTool']>>) {
    return this.#within('aroundTool', () => next(call));
  }

  async #within<Result>(hook: string, next: () => Promise<Result>): Promise<Result> {
    this.#said.push(`${this.name} ${hook}`);
    const result = await next();
    this.#said.push(`${this.name} ${hook} ends`);
    return result;
  }
}

describe('around', () => {
  it('gives a hook that was told to end all its time where its limit is 0', async () => {
    const stop = new AbortController();
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const scope = { signal: stop.signal } as CallScope;
    const limits = limitsSchema.parse({ interruptMs: 0 });
    const run = around(
      [{ name: 'odd', aroundCall: (_, next) => ended.then(next) }],
      'aroundCall',
      scope,
      async () => {},
      limits,
    );
    let isOver = false;
    const over = run().finally(() => {
      isOver = true;
    });
    stop.abort();
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    end();
    await over;
  });

  it('runs each hook of all capabilities, the first outermost, on the capability that it belongs to', async () => {
    const said: string[] = [];
    const tool = defineTool({ name: 'echo', description: '', input: z.object({}), execute: () => 'x' });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'echo', input: {} }] }, { text: 'done' }]);
    const agent = HarnessAgent.builder()
      .workspace(scratch())
      .systemPrompt('base')
      .model(model)
      .tools(tool)
      .use(new Recording('outer', said), { name: 'without_hooks' }, new Recording('inner', said))
      .build();
    await agent.call('go');
    const layers = (hook: string) => said.filter((line) => line.split(' ')[1] === hook);
    for (const hook of HOOKS) {
      expect(layers(hook).slice(0, 4)).toEqual([
        `outer ${hook}`,
        `inner ${hook}`,
        `inner ${hook} ends`,
        `outer ${hook} ends`,
      ]);
    }
    expect(model.requests[0]?.system).toBe('base+outer+inner');
    await agent.close();
  });

  it('hands a scope, and not what `next` was given, to hooks that take nothing else', async () => {
    const steps: unknown[] = [];
    const agent = HarnessAgent.builder()
      .workspace(scratch())
      .model(new ScriptedModel([{ text: 'done' }]))
      .use(
        {
          name: 'outer',
          aroundReason: (_, next) => Promise.resolve('given').then(next as () => ReturnType<typeof next>),
        },
        {
          name: 'inner',
          aroundReason: (scope, next) => {
            steps.push(scope.step);
            return next();
          },
        },
      )
      .build();
    await agent.call('go');
    expect(steps).toEqual([1]);
    await agent.close();
  });
});

it('knows no capability: nothing of the loop imports one', () => {
  const folder = fileURLToPath(new URL('../../src/loop/', import.meta.url));
  const files = readdirSync(folder);
  const importing = files.filter((file) =>
    /from '[^']*capabilities\//.test(readFileSync(join(folder, file), 'utf8')),
  );
  expect(files.length).toBeGreaterThan(10);
  expect(importing).toEqual([]);
});
