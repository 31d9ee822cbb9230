import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

const programs = ['chromium', 'chromium-browser', 'google-chrome']
const browser = programs.find((name) => spawnSync('sh', ['-c', `command -v ${name}`]).status === 0)

/** A reason to skip, if no browser is installed. */
export function missingBrowser(): string | false {
  return browser === undefined ? `none of these is here: ${programs.join(', ')}` : false
}

/** Opens a page without a screen, trusting every certificate, until it is disposed of. @param profile folder of its own */
export function openInBrowser(url: string, profile: string): AsyncDisposable {
  const words = [
    ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
    ...['--disable-background-networking', '--ignore-certificate-errors', '--no-proxy-server'],
    ...[`--user-data-dir=${profile}`, url],
  ]
  const child = spawn(browser ?? '', words, { stdio: 'ignore' })
  const ended = once(child, 'close')
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
