import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Creates a temporary folder for a task, by default in the system's temporary folder, and removes it afterwards. */
export async function withTemporaryFolder<Result>(
  use: (folder: string) => Promise<Result>,
  within = tmpdir(),
): Promise<Result> {
  const folder = await mkdtemp(join(within, 'x-'));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
