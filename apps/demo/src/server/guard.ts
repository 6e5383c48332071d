import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { apiError } from './errors.js';

/** Matches the names and addresses by which only this machine reaches a server. */
export const LOOPBACK = /^(?:localhost|::1|\[::1\]|127\.\d+\.\d+\.\d+)$/;
const SAFE_METHODS = ['GET', 'HEAD'];

/**
 * Rejects requests that another web site makes the browser send. It rejects unknown host names, which an attacker could point at this
 * machine (DNS rebinding), and forms or scripts of other origins (CSRF), detected by `Origin` or `Sec-Fetch-Site`.
 */
export function sameOrigin(host: string): MiddlewareHandler {
  return async (context, next) => {
    const name = hostName(context.req.header('host'));
    // On other hosts the token protects: a rebound name does not have our cookie.
    if (LOOPBACK.test(host) && !LOOPBACK.test(name)) {
      return apiError(context, 421, 'wrong_host', `This server does not answer to the name "${name}".`);
    }
    const isApi = context.req.path.startsWith('/api/');
    if ((isApi || !SAFE_METHODS.includes(context.req.method)) && isForeign(context)) {
      return apiError(context, 403, 'wrong_origin', 'This request comes from another web site.');
    }
    return next();
  };
}

/** The beginning of the HTML page that explains to a person why the request was rejected. */
const HEAD =
  '<!doctype html><html lang="en"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>x</title>';

/**
 * Admits requests with the token: in `Authorization: Bearer …`, or once as `/?token=…`, which sets a cookie, because event streams cannot
 * carry headers.
 */
export function bearer(token: string): MiddlewareHandler {
  // Browsers send cookies to every port of a host. So the cookie contains a hash instead of the token, and its name contains the port.
  const secret = createHmac('sha256', token).update('cookie').digest('base64url');
  return async (context, next) => {
    const cookie = `x_demo_${/:(\d+)$/.exec(context.req.header('host') ?? '')?.[1] ?? ''}`;
    const offered = context.req.query('token');
    if (offered !== undefined && context.req.path === '/' && matches(offered, token)) {
      // Behind a TLS proxy, which sets this header, the cookie is sent only over TLS.
      const secure = context.req.header('x-forwarded-proto') === 'https';
      setCookie(context, cookie, secret, { httpOnly: true, sameSite: 'Strict', path: '/', secure });
      return context.redirect('/', 303);
    }
    const header = context.req.header('authorization')?.match(/^Bearer (.+)$/i)?.[1];
    const shown = getCookie(context, cookie);
    const isKnown = header === undefined ? matches(shown ?? '', secret) : matches(header, token);
    if (isKnown) return next();
    // A page has the cookie of an earlier start.
    const why = shown === undefined ? 'This server needs a token' : 'The server was restarted';
    const message = `${why}. Open the address it printed.`;
    if (!context.req.header('accept')?.includes('text/html'))
      return apiError(context, 401, 'token_required', message);
    return context.html(`${HEAD}<p>${message}`, 401);
  };
}

function isForeign(context: Context): boolean {
  const site = context.req.header('sec-fetch-site');
  if (site !== undefined && site !== 'same-origin') return true;
  const origin = context.req.header('origin');
  if (origin === undefined) return false;
  return !URL.canParse(origin) || new URL(origin).host !== context.req.header('host');
}

/** `localhost:3000` → `localhost`, `[::1]:3000` → `[::1]` */
function hostName(header = ''): string {
  return header.replace(/:\d+$/, '').toLowerCase();
}

/** Compares hashes in constant time, so that timing reveals neither length nor content. */
function matches(offered: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(offered), digest(token));
}
