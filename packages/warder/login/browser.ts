import { spawn } from 'node:child_process'

type Env = Readonly<Record<string, string | undefined>>

/** Opens an address in the browser of the desktop, if there is one. Failures are ignored. */
export function openBrowser(url: string, env: Env, platform = process.platform): void {
  const program = platform === 'darwin' ? 'open' : 'xdg-open'
  const hasScreen = [env.DISPLAY, env.WAYLAND_DISPLAY].some((name) => name !== undefined && name !== '')
  if (platform !== 'darwin' && !(platform === 'linux' && hasScreen)) return
  // No shell interprets the address. The browser outlives the command.
  const child = spawn(program, [url], { stdio: 'ignore', detached: true, env })
  // The address was also printed, for users without the program.
  child.once('error', () => undefined)
  child.unref()
}
