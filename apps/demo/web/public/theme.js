// Runs before the first paint, so that the page does not flash in the system's theme.
try {
  const theme = localStorage.getItem('theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // If storage is blocked, the system's theme applies.
}
