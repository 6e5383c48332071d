import { Monitor, Moon, Sun } from 'lucide-preact';
import { switchTheme, theme } from '../state/theme.js';

const faces = { system: Monitor, light: Sun, dark: Moon };

/** Goes round: as the system, light, dark. */
export function ThemeButton() {
  const Icon = faces[theme.value];
  const label = `Theme: ${theme.value}`;
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} onClick={switchTheme}>
      <Icon size={16} />
    </button>
  );
}
