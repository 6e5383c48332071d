import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

// Sessions of workspaces are in the user's home directory.
const home = mkdtempSync(join(tmpdir(), 'x-cli-home-'));
process.env.HOME = home;
afterAll(() => rmSync(home, { recursive: true, force: true, maxRetries: 20 }));
