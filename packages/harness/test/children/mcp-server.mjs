// An MCP server by the official SDK, for tests: over stdio, or over HTTP when it is given a port (0: any), which it prints.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

/** A transparent pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

function makeServer() {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  const text = (value) => ({ content: [{ type: 'text', text: value }] });
  server.registerTool(
    'echo',
    { description: 'Says it again', inputSchema: { text: z.string() }, annotations: { readOnlyHint: true } },
    ({ text: said }) => text(`echo ${said}`),
  );
  server.registerTool(
    'delete.everything',
    { description: 'Deletes', inputSchema: {}, annotations: { destructiveHint: true } },
    () => text('gone'),
  );
  server.registerTool(
    'count',
    { description: 'Counts calls in a file', inputSchema: { file: z.string() } },
    ({ file }) => {
      appendFileSync(file, 'x');
      return text('counted');
    },
  );
  server.registerTool('fail', { description: 'Fails', inputSchema: {} }, () => ({
    ...text('it broke'),
    isError: true,
  }));
  server.registerTool('picture', { description: 'Shows', inputSchema: {} }, () => ({
    content: [
      { type: 'text', text: 'A pixel:' },
      { type: 'image', data: PIXEL, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///a.txt', text: 'inside' } },
    ],
  }));
  server.registerTool('huge', { description: 'Long', inputSchema: { chars: z.number() } }, ({ chars }) =>
    text('y'.repeat(chars)),
  );
  server.registerTool('hang', { description: 'Never answers', inputSchema: {} }, () => new Promise(() => {}));
  server.registerTool(
    'die',
    { description: 'Dies', inputSchema: { file: z.string().optional() } },
    ({ file }) => {
      if (file !== undefined) appendFileSync(file, 'x');
      process.exit(1);
    },
  );
  server.registerTool(
    'settle',
    {
      description: 'Starts a program, and ends with it only when it must',
      inputSchema: { stubborn: z.boolean() },
    },
    ({ stubborn }) => {
      if (stubborn) {
        process.on('SIGTERM', () => {});
        setInterval(() => {}, 1_000);
      }
      const line = `${stubborn ? "trap '' TERM; " : ''}echo; sleep 600`;
      const { pid, stdout } = spawn('sh', ['-c', line], { stdio: ['ignore', 'pipe', 'inherit'] });
      return new Promise((resolve) => stdout.once('data', () => resolve(text(String(pid)))));
    },
  );
  server.registerTool('secret', { description: 'Tells', inputSchema: {} }, () =>
    text(`token ${process.env.TEST_TOKEN ?? 'none'}`),
  );
  server.registerTool('environment', { description: 'Names', inputSchema: {} }, () =>
    text(Object.keys(process.env).sort().join(' ')),
  );
  const grow = server.registerTool('grow', { description: 'Gets a sister', inputSchema: {} }, () => {
    server.registerTool('another', { description: 'New', inputSchema: {} }, () => text('I am new'));
    grow.remove();
    return text('grown');
  });
  return server;
}

const [port] = process.argv.slice(2);
if (process.env.TEST_REFUSE !== undefined) {
  console.error(`cannot begin with token ${process.env.TEST_TOKEN}`);
  process.exit(3);
}
if (port === undefined) {
  await makeServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map();
  const http = createServer(async (request, response) => {
    if (
      process.env.TEST_TOKEN !== undefined &&
      request.headers.authorization !== `Bearer ${process.env.TEST_TOKEN}`
    ) {
      response.writeHead(401).end(`not ${request.headers.authorization}`);
      return;
    }
    const id = String(request.headers['mcp-session-id'] ?? '');
    let transport = sessions.get(id);
    if (transport === undefined && id !== '') {
      response.writeHead(404).end(
        JSON.stringify({
          jsonrpc: '2.0',
          error: { code: -32_001, message: 'Session not found' },
          id: null,
        }),
      );
      return;
    }
    if (transport === undefined) {
      const made = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: (session) => void sessions.set(session, made),
      });
      transport = made;
      await makeServer().connect(made);
    }
    await transport.handleRequest(request, response);
  });
  http.listen(Number(port), '127.0.0.1', () => console.log(http.address().port));
}
