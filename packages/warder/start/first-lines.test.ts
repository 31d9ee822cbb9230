import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemClock } from '@warder/base'
import { ensureLocalAuthority } from '@warder/server'
import { readFirstPassword, writeServiceLine } from '../service/service-line.ts'
import { temporaryHome } from '../testing/installation.ts'
import { formatConsoleLines, formatFirstLines, formatTryCommand } from './first-lines.ts'

const tls = { ca_file: 'tls/own.crt' }
const endpoints = { auth: { url: 'https://127.0.0.1:1', tls }, kms: { url: 'https://127.0.0.1:2', tls } }

test('what is printed to be pasted names the home, unless it is the one that everybody looks in', () => {
  assert.equal(formatTryCommand(join(process.cwd(), '.warder')), 'npx warder try')
  assert.equal(formatTryCommand('/var/lib/warder'), 'npx warder try --home /var/lib/warder')
  assert.equal(formatTryCommand("/it's here"), "npx warder try --home '/it'\\''s here'")
  assert.equal(formatTryCommand('/var/lib/warder', 'warder'), 'warder try --home /var/lib/warder')
  for (const line of formatFirstLines('/var/lib/warder', endpoints))
    assert.match(line, /--cacert \/var\/lib\/warder\/tls\/own\.crt/)
})

test('the address of the console is printed, and how to trust it where only the local authority vouches for it', async () => {
  const home = temporaryHome()
  try {
    const local = { auth: { url: endpoints.auth.url }, kms: { url: endpoints.kms.url } }
    const format = (of: typeof local, url?: string) => formatConsoleLines(home, of, url)
    assert.deepEqual(format(local, 'https://localhost:2'), ['Console: https://localhost:2/ui/'])
    assert.deepEqual(format(local), [])
    const folder = join(home, 'tls')
    await ensureLocalAuthority({
      folder,
      clock: systemClock,
      certificates: [{ name: 'kms', commonName: 'kms' }],
    })
    const { fingerprint256 } = new X509Certificate(readFileSync(join(folder, 'ca.crt')))
    const lines = format(local, 'https://kms.example/')
    assert.equal(lines[0], 'Console: https://kms.example/ui/')
    assert.ok(lines[1]?.includes(`import ${join(folder, 'ca.crt')} `) && lines[1].includes(fingerprint256))
    assert.equal(format(endpoints, 'https://kms.example').length, 1, 'a certificate of the operator')
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})

test('the first password is for the start that made it, and lines are prose at a terminal alone', () => {
  const home = temporaryHome()
  try {
    const file = join(home, 'initial-admin-password')
    const notices = [`The realm _ has its first administrator: admin. Its password is in ${file}`]
    assert.deepEqual(readFirstPassword(home, notices), [])
    writeFileSync(file, 'a first password\n')
    assert.deepEqual(readFirstPassword(home, notices), ['Password: a first password'])
    assert.deepEqual(readFirstPassword(home, []), [], 'a later start says nothing of it')
    const out: string[] = []
    const err: string[] = []
    const streams = {
      out: (line: string) => void out.push(line),
      err: (line: string) => void err.push(line),
      env: {},
    }
    writeServiceLine({ ...streams, isTerminal: { out: true, err: false } }, 'info', 'it runs')
    writeServiceLine({ ...streams, isTerminal: { out: true, err: false } }, 'warn', 'it stops', { code: 1 })
    assert.deepEqual(out, ['it runs'])
    const { level, code, msg } = JSON.parse(err[0] ?? '') as Record<string, unknown>
    assert.deepEqual([level, code, msg], ['warn', 1, 'it stops'])
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
})
