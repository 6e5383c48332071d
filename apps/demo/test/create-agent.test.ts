import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findSandbox } from '@x/harness';
import { ScriptedModel } from '@x/testkit';
import { expect, it } from 'vitest';
import { createAgent } from '../src/create-agent.js';

it.each([true, false])(
  'gives a shell without a sandbox to nobody who shares the machine: %s',
  async (shared) => {
    const data = mkdtempSync(join(tmpdir(), 'x-demo-'));
    const path = process.env.PATH;
    process.env.PATH = data;
    try {
      expect(findSandbox()).toBeUndefined();
      const options = { model: new ScriptedModel([]), embedded: false, background: null, data, repo: data };
      const { agent } = createAgent({ ...options, shared });
      expect(agent.capabilities.includes('shell')).toBe(!shared);
      await agent.close();
    } finally {
      process.env.PATH = path;
      rmSync(data, { recursive: true });
    }
  },
);
