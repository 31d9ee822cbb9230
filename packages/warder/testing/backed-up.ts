import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { main } from '../main.ts'
import { type Installation, startInstallation } from './installation.ts'

/** An installation that runs, a key of it, what was encrypted with that, and a backup. For tests of backups. */
export interface BackedUp {
  /** A folder that is removed at the end; in it, the account that runs commands remembers `source` as a sender. */
  readonly room: string
  readonly source: Installation
  readonly nightly: string
  readonly kid: string
  /** Options that open the backup. */
  readonly secret: readonly string[]
  /** Runs a command in this process. */
  run(...words: readonly string[]): Promise<Ran>
  asAdmin(installation: Installation, path: string, json: unknown): Promise<Readonly<Record<string, unknown>>>
  /** Starts a restored home, with the root key, and opens there what was encrypted before. */
  opensThere(home: string): Promise<void>
  stop(): Promise<void>
}

export interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

export async function backedUp(): Promise<BackedUp> {
  const room = mkdtempSync(join(tmpdir(), 'warder-backup-'))
  const passphraseFile = join(room, 'passphrase')
  writeFileSync(passphraseFile, 'correct horse battery staple\n')
  const secret = ['--passphrase-file', passphraseFile]
  const nightly = join(room, 'nightly.backup')
  const run = (...words: readonly string[]) => runWith({ XDG_CONFIG_HOME: join(room, 'config') }, words)
  const source = await startInstallation({ home: join(room, 'source') })
  const made = await asAdmin(source, '/v1/crypto/keys', { kty: 'oct', alg: 'A256GCM' })
  const kid = String(made.kid)
  const jwe = await asAdmin(source, '/v1/crypto/encrypt', {
    kid,
    alg: 'dir',
    enc: 'A256GCM',
    data: 'aGVsbG8',
  })
  const { code, err } = await run('backup', nightly, '--home', source.home, ...secret)
  assert.equal(code, 0, err)
  const from = join(source.home, 'backup-signing.pub')
  const trusting = await run('restore', nightly, '--home', join(room, 'trusting'), '--from', from, ...secret)
  assert.equal(trusting.code, 0, trusting.err)
  return {
    room,
    source,
    nightly,
    kid,
    secret,
    run,
    asAdmin,
    async opensThere(home) {
      writeFileSync(join(home, 'root.key'), readFileSync(join(source.home, 'root.key')), { mode: 0o600 })
      writeFileSync(join(home, 'initial-admin-password'), source.password)
      const restored = await startInstallation({ home })
      try {
        const { data } = await asAdmin(restored, '/v1/crypto/decrypt', jwe)
        assert.equal(data, 'aGVsbG8')
      } finally {
        assert.equal(await restored.stop(), 0)
      }
    },
    async stop() {
      await source.stop()
      rmSync(room, { recursive: true, force: true })
    },
  }
}

async function runWith(env: Readonly<Record<string, string>>, words: readonly string[]): Promise<Ran> {
  const out: string[] = []
  const err: string[] = []
  const terminal = {
    out: (line: string) => void out.push(line),
    err: (line: string) => void err.push(line),
    env,
  }
  const code = await main(words, terminal)
  return { code, out: out.join('\n'), err: err.join('\n') }
}

async function asAdmin(
  installation: Installation,
  path: string,
  json: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const client = installation.client('kms')
  try {
    const headers = { authorization: `Bearer ${await installation.adminToken()}` }
    const { status, text } = await client.ask(path, { json, headers })
    assert.ok(status < 300, text)
    return JSON.parse(text)
  } finally {
    client.close()
  }
}
