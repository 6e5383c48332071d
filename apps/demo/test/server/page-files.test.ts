import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { survey } from '../fake-backend/scenarios.js';
import { startServer } from './running-server.js';

let webRoot: string;
let server: Awaited<ReturnType<typeof startServer>>;

beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'x-page-files-'));
  webRoot = join(folder, 'web');
  await mkdir(join(webRoot, 'assets'), { recursive: true });
  await writeFile(join(folder, 'secret.txt'), 'secret');
  await writeFile(join(webRoot, 'index.html'), '<!doctype html><title>Page</title>');
  await writeFile(join(webRoot, 'assets', 'app-1.js'), 'console.log(1)'.repeat(100));
  server = await startServer({ webRoot });
});
afterEach(async () => {
  await server.close();
  await rm(join(webRoot, '..'), { recursive: true });
});

describe('the files of the page', () => {
  it('come with their type; those named after their content for good, the page itself to be asked for again', async () => {
    const page = await server.ask('/');
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('cache-control')).toBe('no-cache');
    const script = await server.ask('/assets/app-1.js');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.headers.get('cache-control')).toContain('immutable');
    expect(script.headers.get('content-encoding')).toBe('gzip');
    expect(await script.text()).toContain('console.log(1)');
  });

  it('and answers of the API are compressed; events are not', async () => {
    server.backend.seed('s', (stage) => survey(stage, 'Survey it'));
    const { headers } = await server.ask('/api/sessions/s/request');
    expect(headers.get('content-encoding')).toBe('gzip');
    const events = await server.ask('/api/sessions/s/events');
    expect(events.headers.get('content-encoding')).toBeNull();
    await events.body?.cancel();
  });

  it('are not sent again to whom has them', async () => {
    const etag = (await server.ask('/')).headers.get('etag') ?? '';
    expect((await server.ask('/', { headers: { 'If-None-Match': etag } })).status).toBe(304);
  });

  it.each(['/secret.txt', '/../secret.txt', '/%2e%2e/secret.txt', '/assets/..%2f..%2fsecret.txt', '/assets'])(
    'are all there is: not %s',
    async (path) => {
      const response = await server.ask(path);
      expect(response.status).toBe(404);
      expect(await response.text()).not.toContain('secret');
    },
  );

  it('say what to do when the page has not been built', async () => {
    const bare = await startServer({ webRoot: join(webRoot, 'nothing') });
    const response = await bare.ask('/');
    expect(response.status).toBe(503);
    expect(await response.text()).toContain('npm run build');
    await bare.close();
  });
});
