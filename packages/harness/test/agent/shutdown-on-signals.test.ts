import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { defineTool, RuntimeContext, textOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import { bundled } from '../../../../tooling/bundled.js';
import { HarnessAgent, shutdownOnSignals } from '../../src/index.js';
import { isPaired, scratch } from '../support.js';

/** A process that only remembers what is done to it. */
class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  readonly warnings: string[] = [];

  exit(code: number): void {
    this.exits.push(code);
    this.emit('exited');
  }
  emitWarning(message: string): void {
    this.warnings.push(message);
  }
}

describe('shutdownOnSignals', () => {
  it('stores a running call on SIGTERM, and the next process goes on with it', async () => {
    const directory = scratch();
    const program = join(import.meta.dirname, '../children/long-call.ts');
    const child = spawn(process.execPath, [bundled(program), directory], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const lines: string[] = [];
    const output = createInterface({ input: child.stdout });
    output.on('line', (line) => {
      lines.push(line);
      if (line === 'tool running') child.kill('SIGTERM');
    });
    const [[code]] = await Promise.all([once(child, 'exit'), once(output, 'close')]);
    expect(code).toBe(128 + 15);
    expect(lines.sort()).toEqual(['refused: agent_closed', 'stopped: shutdown', 'tool running']);

    const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });
    const model = new ScriptedModel([{ text: 'I go on' }]);
    const migrate = defineTool({
      name: 'migrate',
      description: '',
      input: z.object({}),
      execute: () => 'done',
    });
    const agent = HarnessAgent.builder()
      .name('coder')
      .model(model)
      .tools(migrate)
      .workspace(directory)
      .build();
    expect((await agent.state(context))?.activeCall).toBeDefined();
    // The lease went with the process: there is nothing to wait for.
    const reply = await agent.resume(context);
    expect(reply).toMatchObject({ text: 'I go on', stopReason: 'completed' });
    const seen = model.requests[0]?.messages ?? [];
    expect(isPaired(seen)).toBe(true);
    expect(textOf(seen.at(-1) ?? [])).toContain('shut down before this call finished');
    expect((await agent.state(context))?.activeCall).toBeUndefined();
  });

  it('closes every agent once, then exits; a second signal exits at once', async () => {
    const target = new FakeProcess();
    const closed: string[] = [];
    let finish = () => {};
    const slow = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const agents = ['a', 'b'].map((name) => ({
      close: () => {
        closed.push(name);
        return slow;
      },
    }));
    shutdownOnSignals(agents, { process: target });
    target.emit('SIGINT', 'SIGINT');
    expect(closed).toEqual(['a', 'b']);
    expect(target.exits).toEqual([]);
    target.emit('SIGTERM', 'SIGTERM');
    expect(target.exits).toEqual([143]);
    finish();
    await once(target, 'exited');
    expect(target.exits).toEqual([143, 130]);
    expect(closed).toEqual(['a', 'b']);
  });

  it('goes on with the shutdown at a second SIGHUP, because a closed terminal sends two', async () => {
    const target = new FakeProcess();
    let finish = () => {};
    const close = () => new Promise<void>((resolve) => (finish = resolve));
    shutdownOnSignals({ close }, { signals: ['SIGHUP'], process: target });
    target.emit('SIGHUP', 'SIGHUP');
    target.emit('SIGHUP', 'SIGHUP');
    expect(target.exits).toEqual([]);
    finish();
    await once(target, 'exited');
    expect(target.exits).toEqual([129]);
  });

  it('says what could not be closed, and exits with 1', async () => {
    const target = new FakeProcess();
    shutdownOnSignals({ close: () => Promise.reject(new Error('out of reach')) }, { process: target });
    target.emit('SIGTERM', 'SIGTERM');
    await once(target, 'exited');
    expect(target.exits).toEqual([1]);
    expect(target.warnings).toEqual(['An agent could not be closed: Error: out of reach']);
  });

  it('listens to the signals that it is given, until it is told not to', () => {
    const target = new FakeProcess();
    const stop = shutdownOnSignals({ close: async () => {} }, { signals: ['SIGUSR2'], process: target });
    expect(target.eventNames()).toEqual(['SIGUSR2']);
    stop();
    expect(target.eventNames()).toEqual([]);
  });

  it('is not installed by an agent itself', () => {
    const before = process.listenerCount('SIGTERM');
    HarnessAgent.builder().model(new ScriptedModel([])).workspace(scratch()).build();
    expect(process.listenerCount('SIGTERM')).toBe(before);
  });
});
