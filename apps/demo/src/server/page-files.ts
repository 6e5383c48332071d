import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Context } from 'hono';

interface PageFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
  readonly etag: string;
  /** Named after its content, so it never changes. */
  readonly immutable: boolean;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.map': 'application/json',
};

/** Answers a request for a file of the page, or nothing when there is no such file. */
type PageFiles = (context: Context) => Response | undefined;

/**
 * Reads the built page once. It is small, and what is not in this map does not exist: no path of a request ever reaches
 * the file system.
 */
export async function loadPageFiles(root: string): Promise<PageFiles> {
  const files = new Map<string, PageFile>();
  const compress = promisify(gzip);
  const entries = await readdir(root, { recursive: true, withFileTypes: true }).catch(ignoreMissing);
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const name = `/${path.slice(join(root, sep).length).split(sep).join('/')}`;
    const bytes = new Uint8Array(await readFile(path));
    files.set(name === '/index.html' ? '/' : name, {
      type: types[extname(name)] ?? 'application/octet-stream',
      bytes,
      gzipped: new Uint8Array(await compress(bytes)),
      etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`,
      immutable: name.startsWith('/assets/'),
    });
  }

  return (context) => {
    const file = files.get(context.req.path);
    if (file === undefined) return undefined;
    const headers: Record<string, string> = {
      'Content-Type': file.type,
      'Cache-Control': file.immutable ? 'public, max-age=31536000, immutable' : 'no-cache',
      ETag: file.etag,
      Vary: 'Accept-Encoding',
    };
    if (context.req.header('if-none-match') === file.etag) return context.body(null, 304, headers);
    const zipped = /\bgzip\b/.test(context.req.header('accept-encoding') ?? '');
    if (zipped) headers['Content-Encoding'] = 'gzip';
    return context.body(zipped ? file.gzipped : file.bytes, 200, headers);
  };
}

function ignoreMissing(error: NodeJS.ErrnoException): never[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
