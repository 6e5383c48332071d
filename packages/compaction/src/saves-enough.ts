/** How much a reduction must save to count. */
export interface MinimumSaving {
  readonly minSavingPercent: number;
  readonly minSavingTokens: number;
}

/** Whether a conversation fell by the share and by the number of tokens that make a reduction worth having. */
export function savesEnough(before: number, after: number, minimum: MinimumSaving): boolean {
  const saved = before - after;
  return saved > 0 && saved >= Math.max(before * minimum.minSavingPercent, minimum.minSavingTokens);
}
