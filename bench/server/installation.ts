import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processTree } from './cost.ts'

/** A whole Warder, started in a home of its own, as a user would start it. */
export interface Installation {
  readonly home: string
  readonly authUrl: string
  readonly kmsUrl: string
  readonly ca: string
  readonly password: string
  /** Processes of one service (its main thread and workers are one process). */
  pids(service: 'auth' | 'kms'): readonly number[]
  stop(): Promise<void>
}

const warder = fileURLToPath(new URL('../../packages/warder/bin/warder.mjs', import.meta.url))
const startWithinMs = 60_000

export async function startInstallation(
  env: Readonly<Record<string, string>>,
  home?: string,
): Promise<Installation> {
  const folder = home ?? mkdtempSync(join(tmpdir(), 'warder-bench-'))
  const child: ChildProcess = spawn(process.execPath, [warder, 'start', '--home', folder], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, AUTH_PORT: '0', KMS_PORT: '0', KMS_SOCKET_SERVER_PORT: '0', ...env },
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const endpoints = join(folder, 'endpoints.json')
  const until = performance.now() + startWithinMs
  while (!existsSync(endpoints)) {
    if (child.exitCode !== null || performance.now() > until)
      throw new Error('Warder did not start: see above')
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const urls = JSON.parse(readFileSync(endpoints, 'utf8')) as { auth: { url: string }; kms: { url: string } }
  return {
    home: folder,
    authUrl: urls.auth.url,
    kmsUrl: urls.kms.url,
    ca: readFileSync(join(folder, 'tls', 'ca.crt'), 'utf8'),
    password: readFileSync(join(folder, 'initial-admin-password'), 'utf8').trim(),
    pids: (service) =>
      processTree(child.pid ?? 0).filter((pid) =>
        readFileSync(`/proc/${pid}/cmdline`, 'utf8')
          .split('\0')
          .some(
            (word, index, words) => word === service && words[index - 1]?.endsWith('warder.mjs') === true,
          ),
      ),
    async stop() {
      child.kill('SIGTERM')
      await ended
      if (home === undefined) rmSync(folder, { recursive: true, force: true })
    },
  }
}
