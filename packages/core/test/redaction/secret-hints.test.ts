import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactSecrets } from '../../src/internal.js';
import { hintedPatterns } from '../../src/redaction/redact-secrets.js';
import { SECRET_PATTERNS } from '../../src/redaction/secret-patterns.js';

/** What every alternative of every pattern begins with, put together so that nothing here looks like a secret. */
const BEGINNINGS = [
  ...['-----BEGIN RSA PRIVATE', ' KEY-----\nMIIabc'],
  ...['ey', 'J', 'eyJabcdefgh.abcdefgh.abcdefgh'],
  ...['://', 'redis://user:pass@host'],
  ...['AKIA', 'ASIA', 'ABCDEFGHIJKLMNOP'],
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-'],
  ...['xoxa-', 'xoxb-', 'xoxe-', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'hooks.slack.com/services/'],
  ...['sk-', 'sk_live_', 'rk_test_', 'AIza', 'npm_', 'hf_'],
  ...['Bearer ', 'Basic '],
  ...['password', 'passwd', 'PASSPHRASE', 'pwd', 'Secret', 'secret_access_key', 'api-key', 'ACCESS_KEY'],
  ...['privateKey', 'token', 'credential', 'Credentials', '=', ': ', '=>', '"', '\\"'],
  ...['abc1abc1abc1abc1abc1abc1abc1abc1abc1abc1', ' ', '_', 'é', 'K', 'ſ', 'ı'],
];

const text = fc.array(fc.oneof({ weight: 4, arbitrary: fc.constantFrom(...BEGINNINGS) }, fc.string()), {
  maxLength: 12,
});

describe('hintedPatterns', () => {
  it('never misses a pattern that matches', () => {
    let matches = 0;
    fc.assert(
      fc.property(text, (parts) => {
        const whole = parts.join('');
        const hinted = hintedPatterns(whole);
        SECRET_PATTERNS.forEach(({ pattern }, index) => {
          if (!new RegExp(pattern.source, pattern.flags.replace('g', '')).test(whole)) return;
          matches++;
          expect(hinted & (1 << index), `${pattern} in ${JSON.stringify(whole)}`).not.toBe(0);
        });
      }),
      { numRuns: 5_000 },
    );
    expect(matches).toBeGreaterThan(1_000);
  });

  it('covers every alternative of every pattern', () => {
    const value = 'aB3x'.repeat(20);
    const upper = 'ABCD1234ABCD1234';
    const samples = [
      ...[
        'ghp_',
        'gho_',
        'ghu_',
        'ghs_',
        'ghr_',
        'github_pat_',
        'glpat-',
        'xoxb-',
        'sk-',
        'rk_live_',
        'sk_test_',
      ],
      ...[
        'npm_',
        'hf_',
        'Bearer ',
        'Basic ',
        'password=',
        'passwd: ',
        'passphrase=',
        'pwd=',
        'secret=',
        'token: ',
      ],
      ...[
        'api_key=',
        'accessKey=',
        'PRIVATE-KEY: ',
        'credential=',
        'credentials=',
        'hooks.slack.com/services/',
      ],
    ].map(
      (start) =>
        start + (start === 'npm_' ? value.slice(0, 36) : start === 'hf_' ? value.slice(0, 40) : value),
    );
    for (const sample of [
      ...samples,
      `AKIA${upper}`,
      `ASIA${upper}`,
      `AIza${value.slice(0, 35)}`,
      'x://a:b@c',
    ]) {
      expect(redactSecrets(sample)).toContain('[redacted:');
    }
  });

  it('passes over what hints at nothing', () => {
    expect(hintedPatterns('The quick brown fox jumps over the lazy dog; 12,345 times.')).toBe(0);
  });
});
