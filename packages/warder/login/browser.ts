import { spawn } from 'node:child_process'

type Env = Readonly<Record<string, string | undefined>>

/** Shows an address in the browser of the desktop, where there is one; whether it works shows on the screen. */
export function openBrowser(url: string, env: Env, platform = process.platform): void {
  const program = platform === 'darwin' ? 'open' : 'xdg-open'
  const hasScreen = [env.DISPLAY, env.WAYLAND_DISPLAY].some((name) => name !== undefined && name !== '')
  if (platform !== 'darwin' && !(platform === 'linux' && hasScreen)) return
  // No shell reads the address. The browser goes on after the command.
  const child = spawn(program, [url], { stdio: 'ignore', detached: true, env })
  // The address was printed: people without the program open it themselves.
  child.once('error', () => undefined)
  child.unref()
}
