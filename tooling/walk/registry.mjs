// An npm registry that has only the packed packages, so that `npm install @x/core` works like in the documentation.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

/**
 * Serves packages on loopback.
 *
 * @param packed The manifest and the path of the tarball of each package.
 * @returns The address, and a function that stops the server.
 */
export async function serveRegistry(packed) {
  const packages = new Map(
    await Promise.all(packed.map(async (entry) => [entry.manifest.name, await read(entry)])),
  );

  const server = createServer((request, response) => {
    const name = decodeURIComponent((request.url ?? '/').slice(1));
    const [owner, wantsTarball] = name.endsWith('.tgz')
      ? [name.slice(0, -'.tgz'.length), true]
      : [name, false];
    const found = packages.get(owner);
    if (found === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}');
    } else if (wantsTarball) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found.bytes);
    } else {
      const { manifest, integrity } = found;
      const dist = { tarball: `${address()}/${manifest.name}.tgz`, integrity };
      const document = {
        name: manifest.name,
        'dist-tags': { latest: manifest.version },
        versions: { [manifest.version]: { ...manifest, dist } },
      };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document));
    }
  });
  const address = () => `http://127.0.0.1:${server.address().port}`;
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
  return { address: address(), close: () => new Promise((closed) => server.close(closed)) };
}

async function read({ manifest, tarball }) {
  const bytes = await readFile(tarball);
  return { manifest, bytes, integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}` };
}
