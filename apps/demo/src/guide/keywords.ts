const COMMON = new Set(
  `a about again all am an and any are as at be been but by can could did do does for from get give had has have how i if in
  into is it its just many me more most much my no not now of on one only or other our out please say see should show so
  some tell than that the their them then there these they this to two up us use was we were what when where which
  who why will with would you your`.split(/\s+/),
);

/** The words of a question that may tell where its answer stands. */
export function keywords(question: string): readonly string[] {
  const words = question.toLowerCase().match(/[\p{L}\p{N}_@][\p{L}\p{N}_@./-]*/gu) ?? [];
  return [...new Set(words.map((word) => word.replace(/[./-]+$/, '')).filter((word) => !COMMON.has(word)))];
}

/** Scores a text: the share of the words that it has. A plural also counts as its singular. */
export function coverage(text: string, words: readonly string[]): number {
  if (words.length === 0) return 0;
  const lower = text.toLowerCase();
  const hits = words.filter(
    (word) => lower.includes(word) || (word.endsWith('s') && lower.includes(word.slice(0, -1))),
  );
  return hits.length / words.length;
}
