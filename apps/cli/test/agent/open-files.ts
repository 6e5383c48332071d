import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { openAgent } from '../../src/agent/open-agent.js';
import { checkInEditor } from '../support/editor-schema.js';

/** The directory of the test's files. */
export let directory: string;
/** Gives each test of the file that calls this a directory. */
export function withDirectory(): void {
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'x-pasted-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }));
}

const environment = { OPENAI_BASE_URL: 'http://127.0.0.1:1', ANTHROPIC_API_KEY: 'key' };

/** Opens the first of the files; the warnings with it. */
export async function open(files: Readonly<Record<string, string>>, model?: string) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), text);
  }
  const warnings: string[] = [];
  const file = join(directory, Object.keys(files)[0] ?? '');
  const warn = (message: string) => warnings.push(message);
  const { agent, close } = await openAgent(file, {
    trust: true,
    project: directory,
    environment,
    warn,
    model,
  });
  await close();
  // The model of the command line stands in for the one that a file lacks.
  if (model === undefined) await checkInEditor(file, Object.values(files)[0] ?? '');
  return { agent, warnings: warnings.join('\n') };
}

export const MODEL = 'model: anthropic:claude-sonnet-4-5';
export const AGENT = `${MODEL}\ncapabilities: [compaction]\n`;
