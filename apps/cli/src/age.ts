const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
] as const;

/** Returns the age of a timestamp in the largest unit that fits: `3 h ago`. A future timestamp of another machine counts as now. */
export function ageOf(time: string, now: number): string {
  const passed = now - Date.parse(time);
  const [unit, length] = UNITS.find((each) => passed >= each[1]) ?? [];
  return length === undefined ? 'just now' : `${Math.floor(passed / length)} ${unit} ago`;
}
