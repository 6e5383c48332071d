import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { bundled } from '../../../../tooling/bundled.js';
import { temporaryDirectory } from '../temporary-directory.js';

test.skipIf(process.platform === 'win32')('a lack of descriptors is a transient error', async () => {
  const program = bundled(join(import.meta.dirname, '../children/use-up-descriptors.ts'));
  const limited = ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, program];
  const { stdout } = await promisify(execFile)('sh', [...limited, await temporaryDirectory()]);
  expect(stdout).toBe('workspace_io true\nworkspace_io true\n');
});
