// The page with scripted sessions, to work on it without an agent:
//   node --conditions=@x/source --import tsx apps/demo/test/fake-backend/serve.ts
// and beside it `npx vite` in apps/demo, whose /api goes here.
import { fileURLToPath } from 'node:url';
import { createServer } from '../../src/server/server.js';
import { FakeBackend } from './fake-backend.js';
import { asking, chat, longSession, outage, survey } from './scenarios.js';

const backend = new FakeBackend({ pauseMs: 12 });
backend.seed('long', longSession);
backend.seed('short', (stage) => chat(stage, 'How does a compaction work?'), 1);
backend.seed('surveyed', (stage) => survey(stage, 'Survey packages/core for me'), 1);
backend.seed('asking', (stage) => asking(stage, 'Publish it'), 2);
backend.seed('failed', (stage) => outage(stage, 'Which store loses a turn?'), 9);

const webRoot = fileURLToPath(new URL('../../dist/web', import.meta.url));
console.log(await createServer({ backend, webRoot, port: Number(process.env.PORT ?? 4173) }).listen());
