/** How much the stress tests do: little in every run, all of it with `MEMORY_STRESS=full`. */
export const SIZE =
  process.env.MEMORY_STRESS === 'full'
    ? { kills: 48, edits: 744, answers: 100 }
    : { kills: 4, edits: 150, answers: 25 };
