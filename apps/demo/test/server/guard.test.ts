import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startServer } from './running-server.js';

let server: Awaited<ReturnType<typeof startServer>>;

beforeEach(async () => {
  server = await startServer();
});
afterEach(() => server.close());

/** A request whose `Host` a browser would set, which `fetch` does not let one choose. */
function statusFor({ origin, cookie }: typeof server, host: string): Promise<number | undefined> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const options = { hostname, port, path: '/api/info', headers: { Host: host, Cookie: cookie } };
    request(options, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

describe('a server on loopback', () => {
  it('answers to its own names and to no other, so that no rebound name reaches it', async () => {
    const { port } = new URL(server.origin);
    expect(await statusFor(server, `localhost:${port}`)).toBe(200);
    expect(await statusFor(server, `127.0.0.1:${port}`)).toBe(200);
    expect(await statusFor(server, `[::1]:${port}`)).toBe(200);
    expect(await statusFor(server, `evil.example:${port}`)).toBe(421);
    expect(await statusFor(server, 'localhost.evil.example')).toBe(421);
  });

  it.each([
    ['another origin', { Origin: 'https://evil.example' }],
    ['an opaque origin', { Origin: 'null' }],
    ['another port', { Origin: 'http://127.0.0.1:1' }],
    ['another site, by its own word', { 'Sec-Fetch-Site': 'cross-site' }],
    ['a sibling site', { 'Sec-Fetch-Site': 'same-site' }],
  ])('refuses to change anything for %s', async (_, headers) => {
    const response = await server.post('/api/sessions/s/messages', { text: 'rm -rf' }, headers as never);
    expect(response.status).toBe(403);
    expect((await server.backend.sessions()).length).toBe(0);
  });

  it('lets its own page change things', async () => {
    const headers = { Origin: server.origin, 'Sec-Fetch-Site': 'same-origin' };
    expect((await server.post('/api/sessions/s/messages', { text: 'Hi' }, headers)).status).toBe(204);
  });

  it.each(['cross-site', 'same-site', 'none'])('shows a request of %s nothing', async (site) => {
    const response = await server.ask('/api/sessions', { headers: { 'Sec-Fetch-Site': site } });
    expect(response.status).toBe(403);
  });

  it('forbids inline scripts and styles, foreign content and frames', async () => {
    const policy = (await server.ask('/')).headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("script-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain('unsafe');
  });
});

describe('a token', () => {
  it.each(['127.0.0.1', '0.0.0.0'])('is a new one at each start, and needed on %s', async (host) => {
    const [one, other] = [await startServer({ host }), await startServer({ host })];
    const tokenOf = ({ address }: typeof one) => new URL(address).searchParams.get('token') ?? '';
    expect(tokenOf(one).length).toBeGreaterThan(30);
    expect(tokenOf(one)).not.toBe(tokenOf(other));
    for (const headers of [{}, { Cookie: other.cookie }, { Authorization: `Bearer ${tokenOf(other)}` }]) {
      const url = new URL('/api/sessions/s/permissions', one.origin);
      const init = {
        method: 'PUT',
        body: '{"mode":"bypass"}',
        headers: { 'Content-Type': 'application/json', ...headers },
      };
      expect((await fetch(url, init)).status).toBe(401);
      expect((await fetch(new URL('/api/sessions', one.origin), { headers })).status).toBe(401);
    }
    const [cookieName] = one.cookie.split('=');
    const stale = { headers: { Cookie: `${cookieName}=of-an-earlier-start` } };
    const refused = await (await fetch(new URL('/api/sessions', one.origin), stale)).text();
    expect(refused).toContain('The server was restarted. Open the address it printed.');
    const browser = { headers: { ...stale.headers, Accept: 'text/html,*/*;q=0.8' } };
    const page = await fetch(one.origin, browser);
    expect([page.status, page.headers.get('content-type')]).toEqual([401, 'text/html; charset=UTF-8']);
    expect(await page.text()).toMatch(/<p>The server was restarted\. Open the address it printed\.$/);
    await Promise.all([one.close(), other.close()]);
  });

  it('opens the door as a header, or once in the address for a cookie', async () => {
    const guarded = await startServer({ token: 'open sesame' });
    const none = { headers: { Cookie: '' } };
    expect((await guarded.ask('/api/info', none)).status).toBe(401);
    expect((await guarded.ask('/', none)).status).toBe(401);
    const wrong = { headers: { Authorization: 'Bearer nope' } };
    expect((await guarded.ask('/api/info', wrong)).status).toBe(401);
    const right = { headers: { Authorization: 'Bearer open sesame' } };
    expect((await guarded.ask('/api/info', right)).status).toBe(200);

    const first = await fetch(guarded.address, { redirect: 'manual' });
    expect(first.status).toBe(303);
    expect(first.headers.get('location')).toBe('/');
    const cookie = first.headers.get('set-cookie') ?? '';
    expect(cookie).not.toMatch(/open|sesame/);
    expect(cookie).toMatch(/HttpOnly/);
    expect(cookie).toMatch(/SameSite=Strict/);
    expect(cookie).not.toMatch(/Secure/);
    const behindTls = await guarded.ask('/?token=open+sesame', {
      redirect: 'manual',
      headers: { 'X-Forwarded-Proto': 'https' },
    });
    expect(behindTls.headers.get('set-cookie')).toMatch(/; Secure/);
    const again = await guarded.ask('/api/info', { headers: { Cookie: cookie.split(';')[0] ?? '' } });
    expect(again.status).toBe(200);
    await guarded.close();
  });
});
