import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Value for `skip` of a test: false when the program openssl is installed, else the reason. */
export const missingOpenssl: string | false =
  spawnSync('openssl', ['version']).status === 0 ? false : 'the program openssl is not installed'

/** Result of a run of the program. */
export interface OpensslRun {
  readonly status: number | null
  /** Both outputs. */
  readonly text: string
  /** Files that it wrote, by name. */
  file(name: string): Buffer
}

/** A temporary folder of one test, in which the program runs. */
export interface OpensslFolder {
  run(...words: readonly string[]): OpensslRun
  write(name: string, content: Uint8Array | string): void
  [Symbol.dispose](): void
}

export function opensslFolder(): OpensslFolder {
  const folder = mkdtempSync(join(tmpdir(), 'warder-openssl-'))
  const file = (name: string) => readFileSync(join(folder, name))
  return {
    run(...words) {
      const { status, stdout, stderr } = spawnSync('openssl', words, { cwd: folder, timeout: 60_000 })
      return { status, text: `${stdout}${stderr}`, file }
    },
    write: (name, content) => writeFileSync(join(folder, name), content),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** DER in PEM. */
export function pem(label: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`
}
