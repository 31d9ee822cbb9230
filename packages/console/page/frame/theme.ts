const name = 'warder-theme'
const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

/** The one value that the page stores in the browser. */
export function readTheme(): Theme {
  try {
    return themes.find((theme) => theme === localStorage.getItem(name)) ?? 'system'
  } catch {
    return 'system'
  }
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  try {
    if (theme === 'system') localStorage.removeItem(name)
    else localStorage.setItem(name, theme)
  } catch {
    // A browser that stores nothing for pages forgets the choice.
  }
}
