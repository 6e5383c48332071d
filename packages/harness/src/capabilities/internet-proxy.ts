import { randomBytes } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { BlockList, connect, isIPv6, type Socket } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { errorText } from '@x/core/internal';

/** IPv4 networks that are not public: this machine, its network, cloud metadata, and reserved addresses. */
const PRIVATE_4 =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3';
/** All public IPv6 addresses are within `2000::/3`. `PRIVATE_6` excludes documentation and addresses that embed IPv4. */
const PUBLIC_6 = '2000::/3';
const PRIVATE_6 = '2001::/23 2001:db8::/32 2002::/16 3fff::/20';

const privateAddresses = blockList(`${PRIVATE_4} ${PRIVATE_6}`);
const publicAddresses = blockList(PUBLIC_6);

function blockList(networks: string): BlockList {
  const list = new BlockList();
  for (const network of networks.split(' ')) {
    const [address = '', bits] = network.split('/');
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Tests if an address is on the public internet: neither this machine nor a private network. */
export function isPublic(address: string): boolean {
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  if (own.some((each) => each.address === address)) return false;
  if (!isIPv6(address)) return !privateAddresses.check(address, 'ipv4');
  return publicAddresses.check(address, 'ipv6') && !privateAddresses.check(address, 'ipv6');
}

/** Resolves a host to a public address. Connect to that address, because the name may resolve differently next time. */
async function publicAddress(host: string): Promise<string> {
  const addresses = await lookup(host.replace(/^\[|\]$/g, ''), { all: true });
  const [first] = addresses;
  if (first === undefined || !addresses.every(({ address }) => isPublic(address)))
    throw new Error(`${host} is not a public address, so the sandbox cannot connect to it.`);
  return first.address;
}

let socket: string | undefined;

/**
 * Starts the proxy that gives sandboxed commands access to the internet only. Starts it once per process and does not
 * keep the process alive.
 *
 * @returns the path of its socket.
 */
function internetProxy(): string {
  if (socket !== undefined) return socket;
  const directory = mkdtempSync(join(tmpdir(), `x-proxy-${randomBytes(4).toString('hex')}-`));
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
  socket = join(directory, 'socket');
  // Both sides may send anything, so an error of either only ends its connection.
  const server = createServer((incoming, response) => {
    const { socket: client } = incoming;
    forward(incoming, response).catch((error) =>
      response.headersSent ? client.destroy() : refuse(client, error),
    );
  });
  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    tunnel(incoming.url ?? '', client, head).catch((error) => refuse(client, error));
  });
  server.on('clientError', (_, client) => client.destroy());
  server.listen(socket).unref();
  return socket;
}

function refuse(client: Socket, error: unknown): void {
  client.end(`HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n${errorText(error)}`);
}

async function forward(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(incoming.url ?? '');
  if (url.protocol !== 'http:')
    throw new Error(`The proxy does not support ${url.protocol} URLs. Use http or https.`);
  const { method, headers } = incoming;
  const outgoing = request({
    ...{ method, headers, path: `${url.pathname}${url.search}`, port: url.port || 80 },
    host: await publicAddress(url.hostname),
  });
  const answering = new Promise<IncomingMessage>((resolve, reject) => {
    outgoing.on('response', resolve).on('error', reject);
    outgoing.on('close', () => reject(new Error(`${url.hostname} did not answer.`)));
  });
  pipeline(incoming, outgoing).catch(() => outgoing.destroy());
  const answer = await answering;
  response.writeHead(answer.statusCode ?? 502, answer.headers);
  await pipeline(answer, response);
}

async function tunnel(authority: string, client: Socket, head: Buffer): Promise<void> {
  client.on('error', () => {});
  const { hostname, port } = new URL(`https://${authority}`);
  const server = connect({ host: await publicAddress(hostname), port: Number(port || 443) });
  server.on('error', () => client.destroy()).on('close', () => client.destroy());
  client.on('close', () => server.destroy());
  server.once('connect', () => {
    client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    server.write(head);
    server.pipe(client).pipe(server);
  });
}

/** Port of the proxy on the sandbox's own loopback interface. */
const PORT = 8118;
const INSIDE = '/run/x-proxy';

/** Script that forwards loopback connections to the socket, because programs do not support proxies on sockets. */
const RELAY = `const net = require('net');
net.createServer((client) => {
  const proxy = net.connect('${INSIDE}');
  client.on('error', () => proxy.destroy());
  proxy.on('error', () => client.destroy());
  client.pipe(proxy).pipe(client);
}).listen(${PORT}, '127.0.0.1', () => console.log());`;

/** Returns what connects an isolated sandbox to the proxy: options for bubblewrap, and shell lines to run first. */
export function proxiedSandbox(): {
  readonly options: readonly string[];
  readonly script: readonly string[];
} {
  const url = `http://127.0.0.1:${PORT}`;
  const names = ['http_proxy', 'https_proxy', 'HTTP_PROXY', 'HTTPS_PROXY'];
  const relay = `'${process.execPath}' -e '${RELAY.replaceAll("'", `'\\''`)}'`;
  return {
    options: [
      ...['--ro-bind', internetProxy(), INSIDE],
      ...names.flatMap((name) => ['--setenv', name, url]),
      // Makes `fetch` of Node 24 and later use the proxy variables.
      ...['--setenv', 'NODE_USE_ENV_PROXY', '1'],
    ],
    script: ['mkfifo /run/x-ready', `${relay} > /run/x-ready 2> /dev/null &`, 'read _ < /run/x-ready'],
  };
}
