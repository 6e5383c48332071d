import type { Model } from '@x/core';
import { LocalWorkspace } from '@x/core/node';
import { modelSuite, workspaceSuite } from '../../src/suites.js';
import { temporaryDirectories } from '../store-suite/temporary-directories.js';

const directories = temporaryDirectories();

function rejecting(reason: unknown): Model {
  return { id: 'rejecting', generate: () => Promise.reject(reason) };
}

function answering(content: unknown): Model {
  return { id: 'answering', generate: async () => ({ content, finishReason: 'stop' }) as never };
}

modelSuite({ name: 'ThrowsErrors', open: () => rejecting(new Error('no')) });
modelSuite({ name: 'ThrowsStrings', open: () => rejecting('no') });
modelSuite({ name: 'AnswersAnything', open: () => answering([{ type: 'hologram' }]) });
modelSuite({
  name: 'OptsOut',
  open: () => rejecting('no'),
  skip: [{ reason: 'a reset ends the process', tests: ['generate() and stream() settle: connection reset'] }],
});

/** Writes with `ifAbsent` even if the file exists. */
class IgnoresIfAbsent extends LocalWorkspace {
  override write(path: string, data: string | Uint8Array): Promise<void> {
    return super.write(path, data);
  }
}

workspaceSuite({
  name: 'IgnoresIfAbsent',
  create: async () => new IgnoresIfAbsent(await directories.next()),
});
workspaceSuite({
  name: 'OptsOut',
  create: async () => new LocalWorkspace(await directories.next()),
  skip: [
    { reason: 'the storage has no locks', tests: ['a lock is not visible as a file'] },
    { reason: 'none', tests: ['a test that was renamed'] },
  ],
});
