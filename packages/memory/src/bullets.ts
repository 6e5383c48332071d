const BULLET = /^[-*+•]\s+(\S.*)$/u;
/** How notes that were taken without a model begin. */
const LABEL = /^(?:preference|decision|fact) \(as stated\): /i;

/** The text of a bullet, or `undefined` for any other line. */
export function bulletText(line: string): string | undefined {
  return BULLET.exec(line.trim())?.[1];
}

/** What two texts have in common when they say the same but for case, spaces, emphasis and the full stop. */
export function factKey(text: string): string {
  return text
    .replace(LABEL, '')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[*_`]+/g, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/[.!。！\s]+$/u, '')
    .trim();
}

/** The bullets of a text, each with the lines that continue it. */
export function bulletsOf(text: string): string[] {
  const bullets: string[] = [];
  let open = false;
  for (const line of text.split('\n')) {
    const bullet = bulletText(line);
    if (bullet !== undefined) bullets.push(bullet);
    else if (open && /^\s+\S/.test(line)) bullets.push(`${bullets.pop()} ${line.trim()}`);
    open = bullet !== undefined || (open && /^\s+\S/.test(line));
  }
  return bullets;
}

/** The keys of all bullets in some texts. */
export function factKeys(...texts: readonly string[]): Set<string> {
  const keys = new Set<string>();
  for (const text of texts) for (const bullet of bulletsOf(text)) keys.add(factKey(bullet));
  return keys;
}
