import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { Context, MiddlewareHandler } from 'hono';
import { getCookie, setCookie } from 'hono/cookie';
import { apiError } from './errors.js';

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]'];
const SAFE_METHODS = ['GET', 'HEAD'];

/** Returns whether only this machine can reach a server that listens on this host. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127\.\d+\.\d+\.\d+$/.test(host);
}

/**
 * Refuses requests that another web site makes the browser send. A name that an attacker points at this machine (DNS
 * rebinding) is no name of ours; a form or script of another origin (CSRF) says so in `Origin` or `Sec-Fetch-Site`.
 */
export function sameOrigin(host: string): MiddlewareHandler {
  return async (context, next) => {
    const name = hostName(context.req.header('host'));
    // Beyond loopback the token protects: a rebound name has no cookie of ours.
    if (isLoopback(host) && !LOOPBACK.includes(name) && name !== host) {
      return apiError(context, 421, 'wrong_host', `This server does not answer to the name "${name}".`);
    }
    const isApi = context.req.path.startsWith('/api/');
    if ((isApi || !SAFE_METHODS.includes(context.req.method)) && isForeign(context)) {
      return apiError(context, 403, 'wrong_origin', 'This request comes from another web site.');
    }
    return next();
  };
}

/**
 * Lets in who knows the token: in `Authorization: Bearer …`, or once as `/?token=…`, which leaves a cookie, since event
 * streams cannot carry headers.
 */
export function bearer(token: string): MiddlewareHandler {
  // Browsers send cookies to every port of a host. So another server there gets neither the token nor a name that it shares.
  const secret = createHmac('sha256', token).update('cookie').digest('base64url');
  return async (context, next) => {
    const cookie = `x_demo_${/:(\d+)$/.exec(context.req.header('host') ?? '')?.[1] ?? ''}`;
    const offered = context.req.query('token');
    if (offered !== undefined && context.req.path === '/' && matches(offered, token)) {
      // Behind a proxy that speaks TLS, which says so, the cookie goes nowhere else.
      const secure = context.req.header('x-forwarded-proto') === 'https';
      setCookie(context, cookie, secret, { httpOnly: true, sameSite: 'Strict', path: '/', secure });
      return context.redirect('/', 303);
    }
    const header = context.req.header('authorization')?.match(/^Bearer (.+)$/i)?.[1];
    const isKnown =
      header === undefined ? matches(getCookie(context, cookie) ?? '', secret) : matches(header, token);
    if (isKnown) return next();
    const message = 'Open the address with ?token=… that the server printed when it started.';
    return apiError(context, 401, 'token_required', message);
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

/** Compares hashes, so that neither length nor content can be measured. */
function matches(offered: string, token: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(offered), digest(token));
}
