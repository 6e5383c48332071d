import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { redactSecrets as redact } from '../../src/internal.js';

const json = JSON.stringify;

/** Ways to write the name of a secret and its value, by format. */
const forms: Record<string, readonly ((name: string, value: string) => string)[]> = {
  env: [(n, v) => `${n}=${v}`, (n, v) => `export ${n}="${v}"`, (n, v) => `\${${n}:-${v}}`],
  json: [
    (n, v) => json({ [n]: v, user: 'ada' }),
    (n, v) => json({ [n]: [v] }, null, 2),
    (n, v) => json({ name: n, value: v }),
    (n, v) => json({ body: json({ [n]: `a "quote" ${v}` }) }),
    (n, v) => json([json({ body: json({ [n]: v }) })]),
    (n, v) => `{"${n}": "${v}`,
  ],
  yaml: [
    (n, v) => `${n}: ${v} # note`,
    (n, v) => `${n}: '${v}'`,
    (n, v) => `${n}: !!str ${v}`,
    (n, v) => `${n}: |-\n  first line\n  ${v}\nuser: ada`,
    (n, v) => `${n}:\n  - first\n  - ${v}`,
    (n, v) => `${n}:\n    ${v}`,
    (n, v) => `- name: ${n}\n  value: ${v}`,
  ],
  toml: [(n, v) => `${n} = "${v}"`, (n, v) => `${n} = """\n${v}"""`],
  xml: [
    (n, v) => `<${n} kind="x">${v}</${n}>`,
    (n, v) => `<${n}><![CDATA[${v}]]></${n}>`,
    (n, v) => `<add key="${n}" value="${v}"/>`,
    (n, v) => `<property name="${n}"><value>${v}</value></property>`,
  ],
  code: [
    (n, v) => `const ${n}: string = "${v}";`,
    (n, v) => `${n} = b'${v}'`,
    (n, v) => `${n} := "${v}"`,
    (n, v) => `var ${n} string = "${v}"`,
    (n, v) => `public string ${n} { get; set; } = "${v}";`,
    (n, v) => `String ${n} = "${v}";`,
    (n, v) => `config["${n}"] = "${v}"`,
    (n, v) => `setenv("${n}", "${v}")`,
    (n, v) => `const x = process.env.${n} ?? "${v}"`,
    (n, v) => `variable "${n}" {\n  default = "${v}"\n}`,
    (n, v) => `#define ${n} "${v}"`,
  ],
  shell: [
    (n, v) => `tool --${n} ${v} --next`,
    (n, v) => `tool --${n}=${v}`,
    (n, v) => `["tool", "--${n}", "${v}"]`,
    (n, v) => json({ args: ['tool', `--${n}`, v] }, null, 2),
    (n, v) => `setx ${n} ${v}`,
    (n, v) => `ENV ${n} ${v}`,
    (n, v) => `https://x/?${n}=${v}&a=1`,
  ],
  prose: [
    (n, v) => `**${n}:** ${v}`,
    (n, v) => `- \`${n}\`: \`${v}\``,
    (n, v) => `| ${n} | ${v} |`,
    (n, v) => `The ${n} is ${v}`,
    (n, v) => `the ${n} "${v}"`,
    (n, v) => `${n}：${v}`,
  ],
};
const names = ['password', 'dbPassword', 'DB_PASSWORD_PROD', 'api_key', 'X_TOKEN_2', 'client_secret'];
const letters = [...'abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ0123456789'];

describe('redact', () => {
  it.each(Object.entries(forms))('finds a value behind the name of a secret in %s', (_, writings) => {
    const value = fc
      .tuple(
        fc.constantFrom(4, 38, 898, 5_998),
        fc.array(fc.constantFrom(...letters), { minLength: 40, maxLength: 40 }),
      )
      .map(([length, unit]) => `q${unit.join('').repeat(150).slice(0, length)}7`);
    fc.assert(
      fc.property(value, fc.constantFrom(...names), fc.constantFrom(...writings), (secret, name, write) => {
        const redacted = redact(write(name, secret));
        for (const part of [secret.slice(0, 6), secret.slice(-6)]) expect(redacted).not.toContain(part);
        expect(redact(redacted)).toBe(redacted);
      }),
      { numRuns: 40 * writings.length },
    );
  });
});
